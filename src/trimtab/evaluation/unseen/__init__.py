"""What was not profiled: how many runs were enough, and what other inputs missed."""
