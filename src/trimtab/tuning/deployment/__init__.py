"""What a search hands to those who run its best configuration, without trimtab."""
