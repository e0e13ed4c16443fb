"""What came out, as a whole: what a person pays for, before and after."""
