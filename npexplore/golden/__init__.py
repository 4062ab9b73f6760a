"""The golden router of IPv4, IPv6 and MPLS: references with their clauses, batch forms, lookup structures.

Names are imported on first use.
"""

from typing import TYPE_CHECKING

from npexplore.names import on_demand

if TYPE_CHECKING:
    from npexplore.golden.captures.replay import Replay as Replay
    from npexplore.golden.captures.routed import forward_captures as forward_captures
    from npexplore.golden.checksum import internet_checksum as internet_checksum
    from npexplore.golden.checksum import update_checksum as update_checksum
    from npexplore.golden.classify import LinearSearch as LinearSearch
    from npexplore.golden.classify import RangeMatcher as RangeMatcher
    from npexplore.golden.flow_counters import FlowCounters as FlowCounters
    from npexplore.golden.lookup import Dir24_8 as Dir24_8
    from npexplore.golden.lookup import LinearLpm as LinearLpm
    from npexplore.golden.lookup import SixLevelTrie as SixLevelTrie
    from npexplore.golden.lookup import Trie20_4_8 as Trie20_4_8
    from npexplore.golden.lookup import route_cache_hit_ratio as route_cache_hit_ratio
    from npexplore.golden.router.batch import BatchForwarder as BatchForwarder
    from npexplore.golden.router.batch import Frames as Frames
    from npexplore.golden.router.configuration import load_router as load_router
    from npexplore.golden.router.forward import Forwarder as Forwarder

# public name -> the module that holds it
_HOMES = {
    "BatchForwarder": "npexplore.golden.router.batch",
    "Dir24_8": "npexplore.golden.lookup",
    "FlowCounters": "npexplore.golden.flow_counters",
    "Forwarder": "npexplore.golden.router.forward",
    "Frames": "npexplore.golden.router.batch",
    "LinearSearch": "npexplore.golden.classify",
    "LinearLpm": "npexplore.golden.lookup",
    "Replay": "npexplore.golden.captures.replay",
    "RangeMatcher": "npexplore.golden.classify",
    "SixLevelTrie": "npexplore.golden.lookup",
    "Trie20_4_8": "npexplore.golden.lookup",
    "forward_captures": "npexplore.golden.captures.routed",
    "internet_checksum": "npexplore.golden.checksum",
    "load_router": "npexplore.golden.router.configuration",
    "route_cache_hit_ratio": "npexplore.golden.lookup",
    "update_checksum": "npexplore.golden.checksum",
}

__all__ = [*_HOMES]
__getattr__, __dir__ = on_demand(__name__, _HOMES)
