"""Machines that jobs run on, and classes of jobs."""
