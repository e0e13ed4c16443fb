"""Workloads in container images: they run in the image's root file system without an engine."""
