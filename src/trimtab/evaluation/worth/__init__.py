"""The report of `trimtab worth`."""
