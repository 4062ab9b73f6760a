"""Turns a machine and its workload into the arrays of the event engine, runs them, and checks the laws of each run."""
