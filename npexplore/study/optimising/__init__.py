"""The best machines for their cost, out of many."""
