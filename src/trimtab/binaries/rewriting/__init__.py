"""Decide which bytes of a file are kept, and write the file without the others."""
