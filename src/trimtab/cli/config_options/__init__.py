"""Options of verbs for keys of the configuration."""
