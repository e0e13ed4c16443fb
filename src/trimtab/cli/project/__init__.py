"""A project of the user's own: made, and run."""
