"""Words of texts."""
