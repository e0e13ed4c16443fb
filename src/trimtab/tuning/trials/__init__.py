"""One training program as a trial: started, told what to do between its epochs, and ended."""
