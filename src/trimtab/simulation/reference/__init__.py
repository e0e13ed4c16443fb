"""The simulator in plain Python, which the kernel is checked by."""
