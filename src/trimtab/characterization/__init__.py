"""The effect of platform parameters and hyperparameters on learning workloads on Spark."""
