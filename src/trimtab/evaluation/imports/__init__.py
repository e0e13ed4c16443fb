"""The figure of what imports cost."""
