"""Graphs of tasks: the arrays, and their sources."""
