"""A machine against its offered load: the curve of latency and loss, and the highest rate at each loss ratio."""
