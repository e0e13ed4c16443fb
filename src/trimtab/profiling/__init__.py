"""What a run of a program touched, and what it cost."""
