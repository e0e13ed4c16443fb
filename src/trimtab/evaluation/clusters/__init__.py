"""What happened on the nodes of a cluster."""
