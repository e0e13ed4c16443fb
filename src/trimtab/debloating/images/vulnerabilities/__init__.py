"""Known vulnerabilities of the packages of an image, by advisories that lie at hand."""
