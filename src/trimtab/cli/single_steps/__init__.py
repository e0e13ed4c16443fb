"""The single steps of `trimtab debloat`."""
