"""Programs that HEATS finds out with how fast a machine is, and what it takes."""
