"""What each stage left, read and checked: `read` of the module that has the stage's name."""
