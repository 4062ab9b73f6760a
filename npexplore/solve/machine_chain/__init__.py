"""Markov chains of small machines, built from their descriptions."""

from npexplore.solve.machine_chain.chain import MOST_STATES, MachineChain, ctmc, machine_chain

__all__ = ["MOST_STATES", "MachineChain", "ctmc", "machine_chain"]
