"""Recomputes the SoCLIB paper.

performance  throughput over processors, the lock as a Markov chain, parameters that move the peak, elements and paths
sets         sets of parameters that fit the calibration rows, and the predictions of each set
"""
