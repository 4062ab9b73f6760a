"""Analysis of Petri nets: semiflows, reachable markings, Markov chain, transients and simulation."""

from npexplore.solve.petri.ctmc import NetChain, solve_chain
from npexplore.solve.petri.markings import Markings, find_markings
from npexplore.solve.petri.measure import predict
from npexplore.solve.petri.replay import Log, record
from npexplore.solve.petri.simulation import NetSimulation, simulate_net
from npexplore.solve.petri.structure import Semiflow, Structure, find_structure
from npexplore.solve.petri.transient import NetTransient, solve_transient

__all__ = [
    "Log", "Markings", "NetChain", "NetSimulation", "NetTransient", "Semiflow", "Structure", "find_markings",
    "find_structure", "predict", "record", "simulate_net", "solve_chain", "solve_transient",
]  # fmt: skip
