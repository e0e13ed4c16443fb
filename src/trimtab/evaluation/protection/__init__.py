"""Secure task graphs: what protection costs task programs, and what parallel tasks win back."""
