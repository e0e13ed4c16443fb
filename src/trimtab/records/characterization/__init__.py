"""The statements of characterized runs about parameters."""
