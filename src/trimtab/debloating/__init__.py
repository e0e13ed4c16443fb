"""Remove code and files that no profiled workload used, and verify that nothing changed."""
