"""What of its files, functions and kernels a run used."""
