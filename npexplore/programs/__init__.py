"""Loads packet programs (eBPF/XDP) from object files, runs them on captures and counts their work.

Names are imported on first use.
"""

from typing import TYPE_CHECKING

from npexplore.names import on_demand

if TYPE_CHECKING:
    from npexplore.programs.costs import Cost as Cost
    from npexplore.programs.costs import CostTable as CostTable
    from npexplore.programs.costs import read_costs as read_costs
    from npexplore.programs.decisions import path_tree as path_tree
    from npexplore.programs.forwarding import ForwardingTables as ForwardingTables
    from npexplore.programs.instructions import Instruction as Instruction
    from npexplore.programs.loading import program as program
    from npexplore.programs.measuring import Measurement as Measurement
    from npexplore.programs.records import MapDefinition as MapDefinition
    from npexplore.programs.records import Program as Program
    from npexplore.programs.records import SourceLine as SourceLine
    from npexplore.programs.result import ProgramRun as ProgramRun
    from npexplore.programs.running import run as run
else:
    __all__, __getattr__, __dir__ = on_demand(__name__)
