"""How verbs speak: `--quiet`, `--verbose` and `--json`, which all of them take."""
