"""Packet buffering on the IXP2400: its paper's values, recomputed; traces of DRAM accesses."""

from typing import TYPE_CHECKING

from npexplore.names import on_demand

if TYPE_CHECKING:
    from npexplore.designs.ixp2400.accesses import accesses_of_capture as accesses_of_capture
    from npexplore.designs.ixp2400.accesses import read_accesses as read_accesses
    from npexplore.study.papers.ixp2400 import gains as gains
    from npexplore.study.papers.ixp2400 import lengths as lengths
    from npexplore.study.papers.ixp2400 import tables as tables
    from npexplore.study.papers.ixp2400.today import memory_of_today as memory_of_today
else:
    __all__, __getattr__, __dir__ = on_demand(__name__)
