"""Describe a packet-forwarding machine once; learn how fast it is, what holds it back, and whether it is right.

    import npexplore as npx
    machine = npx.design("ixp2400").with_(threads=16)
    load = npx.workload(mix="amp")
    machine.bounds(load), machine.queueing(load), machine.simulate(load, seed=1)

Names are imported when they are first used, so that `import npexplore` costs nothing.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from npexplore.names import on_demand

if TYPE_CHECKING:
    from npexplore.designs import design as design
    from npexplore.designs import design_names as design_names
    from npexplore.ledger import published as published
    from npexplore.machine.workload import workload as workload
    from npexplore.packets import read_capture as read_capture
    from npexplore.study.checking.calibrate import calibrate as calibrate
    from npexplore.study.checking.check import check as check
    from npexplore.study.explaining.compare import compare as compare
    from npexplore.study.explaining.explain import explain as explain
    from npexplore.study.optimising.optimise import optimise as optimise
    from npexplore.study.sweeping.grid import Span as Span
    from npexplore.study.sweeping.grid import grid as grid
    from npexplore.study.sweeping.samples import sample as sample
    from npexplore.study.sweeping.sweep import sweep as sweep

__version__ = "0.2.0"

# public name -> the module that holds it
_HOMES = {
    "Span": "npexplore.study.sweeping.grid",
    "calibrate": "npexplore.study.checking.calibrate",
    "check": "npexplore.study.checking.check",
    "compare": "npexplore.study.explaining.compare",
    "design": "npexplore.designs",
    "design_names": "npexplore.designs",
    "explain": "npexplore.study.explaining.explain",
    "grid": "npexplore.study.sweeping.grid",
    "optimise": "npexplore.study.optimising.optimise",
    "published": "npexplore.ledger",
    "read_capture": "npexplore.packets",
    "sample": "npexplore.study.sweeping.samples",
    "sweep": "npexplore.study.sweeping.sweep",
    "workload": "npexplore.machine.workload",
}

__all__ = [*_HOMES]
__getattr__, __dir__ = on_demand(__name__, _HOMES)

if "IPython" in sys.modules:  # in a notebook or IPython shell
    import_module("npexplore.completion").register()
