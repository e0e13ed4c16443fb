"""What our Snakefile needs of Python: what jobs are given, what they read, and why they run."""
