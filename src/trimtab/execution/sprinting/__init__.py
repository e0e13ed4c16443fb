"""Speeding jobs up for a while."""
