"""`trimtab debloat`, `trimtab verify` and `trimtab advanced learn`."""
