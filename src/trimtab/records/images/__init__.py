"""Findings about container images."""
