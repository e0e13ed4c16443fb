"""Graphs of secure tasks: where they come from, what they cost, programs of them in enclaves."""
