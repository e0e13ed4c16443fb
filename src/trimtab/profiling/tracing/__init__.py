"""Trace the files, functions and kernels that a run uses."""
