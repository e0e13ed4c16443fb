"""What the imports of a Python program cost, and what of them ran."""
