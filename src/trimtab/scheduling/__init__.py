"""The effect of a policy on latency, energy and waste: by formula, simulation and real runs."""
