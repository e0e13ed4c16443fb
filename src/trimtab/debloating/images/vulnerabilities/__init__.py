"""Known vulnerabilities of the packages of an image, from local advisories."""
