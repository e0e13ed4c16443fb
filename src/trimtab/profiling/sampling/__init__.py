"""What meters read during a run, on one time axis."""
