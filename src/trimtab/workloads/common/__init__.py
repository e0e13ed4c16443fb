"""What the shipped programs have in common."""
