"""The programs that are profiled and debloated, and their data."""
