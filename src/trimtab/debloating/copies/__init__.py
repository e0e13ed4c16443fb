"""A new environment as a copy of another one: what it holds, where links lead, its writers."""
