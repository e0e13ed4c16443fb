"""The discrete-event simulator, compiled."""
