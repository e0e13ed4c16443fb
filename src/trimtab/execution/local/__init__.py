"""Real commands on this machine."""
