"""`trimtab image ...`: container images made slim, and compared."""
