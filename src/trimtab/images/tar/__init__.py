"""Tar archives as container images have them: GNU, PAX and the older forms."""
