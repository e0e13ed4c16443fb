"""Formats of recorded traces."""
