"""The report of `trimtab schedule simulate`."""
