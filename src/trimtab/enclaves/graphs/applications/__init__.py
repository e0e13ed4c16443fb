"""The task graphs of the paper's micro-benchmarks: Rocha's thesis, section 8.3.2."""
