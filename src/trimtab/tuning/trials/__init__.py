"""One training program as a trial: its start, its control between epochs, and its end."""
