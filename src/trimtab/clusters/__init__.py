"""What jobs run on, and what they are made of."""
