"""Copies of environments: their layout, their links, and how they are written."""
