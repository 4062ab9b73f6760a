"""The IXP1200 as a DiffServ router: its paper's values, recomputed."""

from typing import TYPE_CHECKING

from npexplore.names import on_demand

if TYPE_CHECKING:
    from npexplore.study.papers.ixp1200 import accounts as accounts
    from npexplore.study.papers.ixp1200 import diffserv as diffserv
    from npexplore.study.papers.ixp1200 import performance as performance
    from npexplore.study.papers.ixp1200 import remedies as remedies
else:
    __all__, __getattr__, __dir__ = on_demand(__name__)
