"""Modules that run inside a recorded program, of Python 3.8 or newer, without trimtab."""
