"""Readers of operators' files of jobs, each recognised by its content."""
