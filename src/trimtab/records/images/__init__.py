"""What is found out about container images."""
