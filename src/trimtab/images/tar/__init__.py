"""Tar archives in container images: GNU, PAX and older formats."""
