"""Read and write binary formats; this package starts no process and reads no configuration."""
