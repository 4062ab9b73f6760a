"""What each paper prints, recomputed: the tables behind its figures, its claims, readings that its text leaves open."""
