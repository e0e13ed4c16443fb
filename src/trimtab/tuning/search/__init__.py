"""One search: its trials, from their start to their score."""
