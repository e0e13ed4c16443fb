"""The growth of code: the lines of a code base by the year of their addition."""
