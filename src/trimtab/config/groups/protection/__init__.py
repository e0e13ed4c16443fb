"""Task programs that are protected, and what of them an experiment runs."""
