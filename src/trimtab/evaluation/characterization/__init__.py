"""Learning workloads on Spark: what platform parameters and hyperparameters do."""
