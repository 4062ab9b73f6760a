"""A machine against its offered load: the curve of latency and loss, and the highest rates within a loss."""
