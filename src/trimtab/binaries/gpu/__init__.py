"""Code for GPUs inside libraries, read."""
