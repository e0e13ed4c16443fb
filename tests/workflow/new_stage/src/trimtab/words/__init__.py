"""The words of texts."""
