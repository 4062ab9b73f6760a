"""Petri nets as text: one line per transition; indexes are unfolded when a net is loaded (docs/petri.md)."""

from npexplore.machine.petri.description import load_net, net, net_schema
from npexplore.machine.petri.pnml import read_pnml
from npexplore.machine.petri.pnml_writer import write_pnml
from npexplore.machine.petri.unfolded import Arc, Formula, Net, Place, Transition

__all__ = ["Arc", "Formula", "Net", "Place", "Transition", "load_net", "net", "net_schema", "read_pnml", "write_pnml"]
