"""Learning workloads on Spark: the effects of platform parameters and hyperparameters."""
