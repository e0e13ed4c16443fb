"""`trimtab tune`."""
