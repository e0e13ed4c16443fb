"""The files of environments: what stayed, what went, and what they are."""
