"""Which files of a root file system a slim copy keeps, and why: the closure of used files."""
