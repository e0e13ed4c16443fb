"""A scheduler for Kubernetes."""
