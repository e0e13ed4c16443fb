"""The output of verbs: `--quiet`, `--verbose` and `--json`, which all of them take."""
