"""The cost model of protected tasks: what it says, and how it is fitted to measured run times."""
