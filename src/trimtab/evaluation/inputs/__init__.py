"""What the earlier stages left, read and checked."""
