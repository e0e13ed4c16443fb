"""What trials run under: the machine that they share, and who decides what each has of it."""
