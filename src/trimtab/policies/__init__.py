"""Policies: choose the next job and its place, and move or evict running jobs."""
