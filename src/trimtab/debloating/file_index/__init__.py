"""The index of removed files, which programs of a slim environment search."""
