"""Rules of the closure: what stays with a path that stays."""
