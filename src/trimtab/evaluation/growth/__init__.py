"""The growth of code bases."""
