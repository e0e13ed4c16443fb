"""Container images before and after, beside the first seed's figures."""
