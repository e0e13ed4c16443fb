"""What of a file is kept, and the file without the rest."""
