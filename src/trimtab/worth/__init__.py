"""What slimming the images of an operator's jobs would be worth."""
