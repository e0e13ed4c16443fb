"""Texts whose words are counted."""
