"""The data between stages: the columns of every table, and every document."""
