"""Shared modules of the shipped programs."""
