"""Probing programs of HEATS, which measure a machine's speed and energy."""
