"""The chapter about tuning: comparison of tuners, and their results."""
