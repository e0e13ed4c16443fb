"""Snapshots of a program's start: the process after its imports, from which later starts go on."""
