"""The node's cold store: it serves removed pieces from the layers of the original image."""
