"""Speeding jobs up temporarily: sprinting."""
