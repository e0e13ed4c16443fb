"""The simulator in plain Python, for checking the kernel."""
