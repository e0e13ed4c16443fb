"""Proof that a slim environment does what the original does."""
