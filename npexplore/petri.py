"""Petri nets: read, drawn, and solved by their structure, their markings, their Markov chain, or simulation."""

from typing import TYPE_CHECKING

from npexplore.names import on_demand

if TYPE_CHECKING:
    from npexplore.machine.petri import Arc as Arc
    from npexplore.machine.petri import Net as Net
    from npexplore.machine.petri import Place as Place
    from npexplore.machine.petri import Transition as Transition
    from npexplore.machine.petri import load_net as load_net
    from npexplore.machine.petri import net as net
    from npexplore.machine.petri import read_pnml as read_pnml
    from npexplore.machine.petri import write_pnml as write_pnml
    from npexplore.plot.petri import draw_net as draw_net
    from npexplore.plot.petri import draw_steps as draw_steps
    from npexplore.plot.petri_states import draw_markings as draw_markings
    from npexplore.solve.petri import Log as Log
    from npexplore.solve.petri import Markings as Markings
    from npexplore.solve.petri import NetChain as NetChain
    from npexplore.solve.petri import NetSimulation as NetSimulation
    from npexplore.solve.petri import NetTransient as NetTransient
    from npexplore.solve.petri import Semiflow as Semiflow
    from npexplore.solve.petri import Structure as Structure
    from npexplore.solve.petri import find_markings as find_markings
    from npexplore.solve.petri import find_structure as find_structure
    from npexplore.solve.petri import predict as predict
    from npexplore.solve.petri import record as record
    from npexplore.solve.petri import simulate_net as simulate_net
    from npexplore.solve.petri import solve_chain as solve_chain
    from npexplore.solve.petri import solve_transient as solve_transient
else:
    __all__, __getattr__, __dir__ = on_demand(__name__)
