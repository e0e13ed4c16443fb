"""Find what a run of a program uses, and measure its costs."""
