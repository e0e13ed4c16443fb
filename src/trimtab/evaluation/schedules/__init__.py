"""What became of jobs on clusters."""
