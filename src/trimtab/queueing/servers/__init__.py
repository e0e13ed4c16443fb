"""Several equal servers with one queue of Poisson arrivals."""
