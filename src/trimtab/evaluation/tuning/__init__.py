"""The chapter about tuning: the tuners beside each other, and what they found."""
