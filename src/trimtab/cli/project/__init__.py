"""Making and running the user's own project."""
