"""Policies: which job is next, where it goes, and what happens to the jobs that run."""
