"""The hardware events of epochs, and similarities by them."""
