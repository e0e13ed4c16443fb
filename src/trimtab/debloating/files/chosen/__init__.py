"""Files of an environment that stay because the user chose them, not because a run used them."""
