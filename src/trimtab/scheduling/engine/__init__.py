"""The discrete-event simulator: one compiled kernel, and a plain reference to check it by."""
