"""Starting, confining, observing and ending programs."""
