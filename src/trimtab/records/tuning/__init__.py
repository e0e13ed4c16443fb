"""What tuning a workload leaves for later ones."""
