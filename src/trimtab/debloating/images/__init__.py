"""Debloated container images: how they are made, and how two images differ."""
