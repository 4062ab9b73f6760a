"""What each paper prints, recomputed: the tables behind its figures, its claims, and possible readings of its text."""
