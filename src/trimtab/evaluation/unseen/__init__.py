"""Behaviour outside the profiles: sufficient runs, and misses of other inputs."""
