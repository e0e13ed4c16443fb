"""Several slim images at once: of one base, which share a layer, or of one image, one a program."""
