"""One module per published machine: its paper's values, recomputed, and the objects that only this machine has."""

from typing import TYPE_CHECKING

from npexplore.names import on_demand

if TYPE_CHECKING:
    from npexplore.papers import gorilla as gorilla
    from npexplore.papers import ixp1200 as ixp1200
    from npexplore.papers import ixp2400 as ixp2400
    from npexplore.papers import raw as raw
    from npexplore.papers import soclib as soclib
    from npexplore.study.papers import tables as tables
    from npexplore.study.papers.data_sheets import hash_rates as hash_rates
    from npexplore.study.papers.data_sheets import qdr_peaks as qdr_peaks
else:
    __all__, __getattr__, __dir__ = on_demand(__name__)
