"""Read, merge, extract and write container images, as archives and folders, without an engine."""
