"""Environments that are debloated: each kind is a module of this package."""
