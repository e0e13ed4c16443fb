"""Traces on clusters under policies, simulated."""
