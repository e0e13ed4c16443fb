"""Task programs in enclaves: real runs here, and simulated runs in other machines' enclaves."""
