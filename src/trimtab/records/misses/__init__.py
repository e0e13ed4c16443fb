"""The misses of slim environments, during settling and later, and estimates of the unseen."""
