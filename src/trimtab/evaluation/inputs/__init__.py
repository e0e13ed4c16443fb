"""Reads and checks the files of earlier stages."""
