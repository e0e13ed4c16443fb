"""What is said of results that are there: `trimtab check` and `trimtab advanced compare`."""
