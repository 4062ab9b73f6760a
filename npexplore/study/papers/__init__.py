"""Recomputes the contents of each paper: the tables behind its figures, its claims, and readings of its text."""
