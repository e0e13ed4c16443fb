"""The shared libraries of an environment: what of each is used, where that is, and sizes."""
