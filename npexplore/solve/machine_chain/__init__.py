"""Markov chains of machines, made from their descriptions: exact where states are few."""

from npexplore.solve.machine_chain.chain import MOST_STATES, MachineChain, ctmc, machine_chain

__all__ = ["MOST_STATES", "MachineChain", "ctmc", "machine_chain"]
