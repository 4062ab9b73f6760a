"""A server with 100-Gbit/s cards: cores, rings, caches and the cards' PCIe links, with three software stacks."""
