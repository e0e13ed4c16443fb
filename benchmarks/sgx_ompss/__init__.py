"""The model of enclaves fitted to run times of SGX-OmpSs' authors; their programs' task graphs."""
