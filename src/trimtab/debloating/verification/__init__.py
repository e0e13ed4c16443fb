"""Verify that a slim environment does the same as the original."""
