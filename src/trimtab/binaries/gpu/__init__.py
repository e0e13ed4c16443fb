"""Read GPU code in libraries."""
