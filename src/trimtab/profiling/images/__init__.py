"""Workloads of container images, which run in the image's root file system without an engine."""
