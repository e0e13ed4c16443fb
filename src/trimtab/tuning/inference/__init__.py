"""What using a model costs: measured under a device's limits, and estimated for other devices."""
