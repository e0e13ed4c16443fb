"""Binary formats: they are read and written here, and nothing is started or configured."""
