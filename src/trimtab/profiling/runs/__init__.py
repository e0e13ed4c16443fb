"""A program as its user runs it, run and measured."""
