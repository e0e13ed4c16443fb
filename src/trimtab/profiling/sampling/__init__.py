"""Sample meters during a run, on one time axis."""
