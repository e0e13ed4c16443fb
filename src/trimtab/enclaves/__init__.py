"""What runs in enclaves, and what its protection costs."""
