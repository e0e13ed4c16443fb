"""The steps of `trimtab debloat`, each by itself."""
