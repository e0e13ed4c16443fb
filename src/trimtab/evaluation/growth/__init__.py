"""How code bases grew."""
