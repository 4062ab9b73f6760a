"""Solvers: bounds, queueing, simulation; each turns a machine and a workload into a Prediction."""
