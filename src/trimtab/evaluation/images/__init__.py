"""Container images and what was made of them, beside the first seed's figures."""
