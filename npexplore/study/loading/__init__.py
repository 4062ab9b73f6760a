"""Studies of a machine over its offered load: curves of latency and loss, and the highest rate at given loss ratios."""
