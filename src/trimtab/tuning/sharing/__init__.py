"""How workers on several machines share one search."""
