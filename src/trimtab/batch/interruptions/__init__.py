"""Jobs that are interrupted: checkpoints, reclaimed nodes, and rounds of policies."""
