"""trimtab: what a machine-learning workload really uses, and what the rest costs."""
