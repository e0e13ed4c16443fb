"""Arrivals of jobs: drawn, or read from recorded traces."""
