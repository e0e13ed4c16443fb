"""Workers over a task graph, simulated: Rocha's thesis, chapter 8."""
