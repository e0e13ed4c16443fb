"""Tuners: what is searched, how trials go on, and what they run under; one module each."""
