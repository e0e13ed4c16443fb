"""Results of tuning a workload that later tuning uses."""
