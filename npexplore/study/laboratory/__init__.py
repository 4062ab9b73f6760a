"""Explores one resource alone, closed and open, by each solver and by exact theory."""
