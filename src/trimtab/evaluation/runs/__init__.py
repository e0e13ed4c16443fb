"""The costs of runs before and after, and the equality of their outputs."""
