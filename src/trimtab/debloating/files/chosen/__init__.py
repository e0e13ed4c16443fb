"""Which files of an environment stay by its user's choice, and not because a run used them."""
