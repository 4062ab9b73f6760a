"""Searches the best machines for their cost over a grid of knobs."""
