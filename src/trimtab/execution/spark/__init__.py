"""Queues and traces on Apache Spark."""
