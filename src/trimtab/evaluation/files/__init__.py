"""The files of environments: kept and removed ones, and their kinds."""
