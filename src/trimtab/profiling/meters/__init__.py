"""Meters of a machine and of processes while they run."""
