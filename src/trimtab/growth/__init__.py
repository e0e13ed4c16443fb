"""How code grows: the lines of a code base by the year in which they came."""
