"""Relations of a library's functions: which functions the code that ran is likely to enter."""
