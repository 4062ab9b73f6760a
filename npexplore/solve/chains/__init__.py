"""Continuous-time Markov chains: states found breadth first, steady state with a certified error."""

from npexplore.solve.chains.chain import Chain, chain
from npexplore.solve.chains.explore import BYTES, explore, memory_left
from npexplore.solve.chains.stationary import Stationary, stationary

__all__ = ["BYTES", "Chain", "Stationary", "chain", "explore", "memory_left", "stationary"]
