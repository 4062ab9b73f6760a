"""Recomputes the RAW paper: rates and loads, its conclusions, the consistency of its numbers, and whole captures.

performance  offered against forwarded, loads of links, larger chips, readings
conclusions  the seven conclusions, each as a claim
consistency  which readings of printed numbers can be true together
line_cards   captures go through the tiles and are compared with the golden router
"""
