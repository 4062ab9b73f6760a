"""A server with 100-Gbit cards: cores, rings, caches and the cards' links, under three stacks."""
