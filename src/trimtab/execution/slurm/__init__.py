"""A real Slurm on this machine, and the policies on it."""
