"""What is fuzzed: a module each, with `run(data, folder)` and the ERRORS that it may raise."""
