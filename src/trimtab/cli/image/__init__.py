"""`trimtab image ...`: makes container images slim, and compares them."""
