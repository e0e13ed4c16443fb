"""Python functions of the Snakefile: jobs' configurations, the files they read, why they run."""
