"""The task graphs of the paper's benchmarks: Rocha's thesis, sections 8.3.2 and 8.4."""
