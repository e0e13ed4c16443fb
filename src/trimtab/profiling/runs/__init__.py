"""Run a program as its user does, and measure the run."""
