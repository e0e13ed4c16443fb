"""Tuners: their search space, promotion and system settings of trials; one module each."""
