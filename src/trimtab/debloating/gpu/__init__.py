"""The GPU code of libraries: what of it is kept, and why."""
