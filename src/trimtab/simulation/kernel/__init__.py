"""The discrete-event simulator in C."""
