"""The attack surface of an image's programs and libraries: gadgets, and the network."""
