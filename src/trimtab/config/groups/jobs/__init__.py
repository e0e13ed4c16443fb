"""When the jobs of a trace arrive, and how long they take."""
