"""Accounting of Slurm."""
