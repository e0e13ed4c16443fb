"""Read the ELF format of libraries and executables."""
