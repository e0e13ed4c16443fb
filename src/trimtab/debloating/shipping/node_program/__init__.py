"""The cold store as one static program: for nodes that have neither Python nor libraries."""
