"""Secure task graphs: the cost of protection, and the gain by parallel tasks."""
