"""How code grows: the lines of a repository by the year in which they came."""
