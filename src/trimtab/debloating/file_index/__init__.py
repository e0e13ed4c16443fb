"""The index of removed files that programs of a slim environment look in."""
