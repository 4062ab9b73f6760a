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
    from npexplore.solve.petri import *  # noqa: F403
else:
    __all__, __getattr__, __dir__ = on_demand(__name__)
