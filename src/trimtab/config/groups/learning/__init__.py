"""Learning workloads, and what they are characterized over."""
