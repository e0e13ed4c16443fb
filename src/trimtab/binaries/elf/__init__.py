"""The ELF format of libraries and executables, read."""
