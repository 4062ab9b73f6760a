"""The golden IPv4 router: references that cite their clause, batch forms proven equal, lookup structures.

Names are imported when they are first used.
"""

from typing import TYPE_CHECKING

from npexplore.names import on_demand

if TYPE_CHECKING:
    from npexplore.golden.batch import BatchForwarder as BatchForwarder
    from npexplore.golden.batch import Frames as Frames
    from npexplore.golden.checksum import internet_checksum as internet_checksum
    from npexplore.golden.checksum import update_checksum as update_checksum
    from npexplore.golden.classify import LinearSearch as LinearSearch
    from npexplore.golden.classify import RangeMatcher as RangeMatcher
    from npexplore.golden.configuration import load_router as load_router
    from npexplore.golden.forward import Forwarder as Forwarder
    from npexplore.golden.lookup import Dir24_8 as Dir24_8
    from npexplore.golden.lookup import LinearLpm as LinearLpm
    from npexplore.golden.lookup import Trie20_4_8 as Trie20_4_8
    from npexplore.golden.lookup import route_cache_hit_ratio as route_cache_hit_ratio
    from npexplore.golden.replay import Replay as Replay
    from npexplore.golden.routed import forward_captures as forward_captures

# public name -> the module that holds it
_HOMES = {
    "BatchForwarder": "npexplore.golden.batch",
    "Dir24_8": "npexplore.golden.lookup",
    "Forwarder": "npexplore.golden.forward",
    "Frames": "npexplore.golden.batch",
    "LinearSearch": "npexplore.golden.classify",
    "LinearLpm": "npexplore.golden.lookup",
    "Replay": "npexplore.golden.replay",
    "RangeMatcher": "npexplore.golden.classify",
    "Trie20_4_8": "npexplore.golden.lookup",
    "forward_captures": "npexplore.golden.routed",
    "internet_checksum": "npexplore.golden.checksum",
    "load_router": "npexplore.golden.configuration",
    "route_cache_hit_ratio": "npexplore.golden.lookup",
    "update_checksum": "npexplore.golden.checksum",
}

__all__ = [*_HOMES]
__getattr__, __dir__ = on_demand(__name__, _HOMES)
