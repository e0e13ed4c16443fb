"""Zstd frames on a node, which has no package for them."""
