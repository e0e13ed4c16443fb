"""What slim environments missed, in the runs that settle them and since, and what is unseen yet."""
