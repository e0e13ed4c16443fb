"""Several slim images at once: of one base with a shared layer, or one image per program."""
