"""The shared libraries of an environment: their used parts, where these lie, and sizes."""
