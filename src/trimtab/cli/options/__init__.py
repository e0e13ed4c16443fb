"""Options of verbs that are keys of the configuration."""
