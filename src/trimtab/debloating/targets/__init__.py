"""Environments that can be debloated: each kind is a module of this package."""
