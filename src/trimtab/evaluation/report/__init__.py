"""Tables, figures and the page that shows them."""
