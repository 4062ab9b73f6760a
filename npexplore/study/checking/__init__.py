"""Compares predictions with published numbers: rules for all rows, labels, scores, a user's results, and fits."""
