"""What stages hand on: the columns of every table, and every document."""
