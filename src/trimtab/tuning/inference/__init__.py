"""The cost of inference: measured under a device's limits, estimated for other devices."""
