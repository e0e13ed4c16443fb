"""Traces of jobs: readers of public formats and generators of synthetic ones."""
