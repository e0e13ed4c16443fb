"""Commands on existing results: `trimtab check` and `trimtab advanced compare`."""
