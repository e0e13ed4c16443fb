"""Graphs of tasks: the arrays, and where they come from."""
