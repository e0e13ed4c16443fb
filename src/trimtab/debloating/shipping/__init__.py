"""Slim images in registries: the image, its cold index, and where the removed bytes come from."""
