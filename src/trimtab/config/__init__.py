"""Typed configuration: what a YAML may say, and the errors when it does not."""
