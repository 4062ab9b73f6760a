"""Describe a packet-forwarding machine once; learn how fast it is, what holds it back, and whether it is right.

    import npexplore as npx
    machine = npx.design("ixp2400").with_(threads=16)
    load = npx.workload(mix="amp")
    machine.bounds(load), machine.queueing(load), machine.simulate(load, seed=1)

Names are imported when they are first used, so that `import npexplore` costs nothing.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

__version__ = "0.1.0"

# public name -> the module that holds it
_HOMES = {
    "check": "npexplore.study.check",
    "design": "npexplore.designs",
    "design_names": "npexplore.designs",
    "golden": "npexplore.golden",
    "published": "npexplore.ledger",
    "read_capture": "npexplore.packets",
    "sweep": "npexplore.study.sweep",
    "testing": "npexplore.testing",
    "workload": "npexplore.machine.workload",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None or find_spec(home) is None:
        raise AttributeError(f"module 'npexplore' has no attribute {name!r}")
    module = import_module(home)
    return module if name in ("golden", "testing") else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
