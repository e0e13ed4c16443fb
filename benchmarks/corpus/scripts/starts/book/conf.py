project = "A book"
