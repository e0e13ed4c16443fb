"""What was found about the imports of a program."""
