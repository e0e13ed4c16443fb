"""What became of libraries and environments."""
