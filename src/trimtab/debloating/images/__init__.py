"""Container images that are debloated: what they have, and what two of them differ in."""
