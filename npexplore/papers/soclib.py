"""Click elements on the SoCLIB multiprocessor: its paper's values, recomputed; cycles of elements."""

from typing import TYPE_CHECKING

from npexplore.names import on_demand

if TYPE_CHECKING:
    from npexplore.designs.soclib import design as design
    from npexplore.designs.soclib import element_cycles as element_cycles
    from npexplore.designs.soclib import ways as ways
    from npexplore.study.papers.soclib import performance as performance
    from npexplore.study.papers.soclib import sets as sets
else:
    __all__, __getattr__, __dir__ = on_demand(__name__)
