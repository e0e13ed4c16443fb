"""Policies choose the next ready task and its worker; each module is a policy."""
