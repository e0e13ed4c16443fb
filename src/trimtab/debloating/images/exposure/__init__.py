"""What the programs and libraries of an image offer to an intruder: gadgets, and the network."""
