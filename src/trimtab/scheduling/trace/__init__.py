"""The jobs of a trace, drawn by its YAML or read from its files."""
