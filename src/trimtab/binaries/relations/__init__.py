"""How functions of a library belong together: which others code that ran is likely to enter."""
