"""The events of epochs: what is alike by them."""
