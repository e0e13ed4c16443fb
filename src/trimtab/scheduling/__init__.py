"""What a policy does to latency, energy and waste: by formula, by simulation, and for real."""
