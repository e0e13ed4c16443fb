"""What `trimtab schedule simulate` reads and writes."""
