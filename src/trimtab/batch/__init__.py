"""Batch queues: jobs of several nodes, with estimates of run times, in a model."""
