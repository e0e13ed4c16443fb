"""Task programs in enclaves: run here, and their graphs simulated in the enclaves of others."""
