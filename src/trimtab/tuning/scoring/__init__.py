"""What a trial is worth: its scores, the Pareto front, and the best trial."""
