"""The results of jobs on clusters."""
