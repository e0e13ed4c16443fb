"""Policies on real machines: this one, Apache Spark, Slurm and Kubernetes."""
