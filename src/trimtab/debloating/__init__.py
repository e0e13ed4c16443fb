"""Removing what no profiled workload used, and proving that nothing changed."""
