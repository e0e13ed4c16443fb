"""Rules of the closure: each adds the paths that a path that stays needs."""
