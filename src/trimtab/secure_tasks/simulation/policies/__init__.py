"""Which ready task runs next, and on which worker: a module is a policy."""
