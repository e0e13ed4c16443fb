"""What runs cost, before and after, and whether they gave the same."""
