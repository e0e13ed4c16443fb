"""Write new images: one layer of a view, and the layout around it."""
