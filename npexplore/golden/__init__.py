"""The golden router of IPv4, IPv6 and MPLS: references with their clauses, batch forms, lookup structures.

Names are imported on first use.
"""

from typing import TYPE_CHECKING

from npexplore.names import on_demand

if TYPE_CHECKING:
    from npexplore.golden.captures.replay import Replay as Replay
    from npexplore.golden.captures.routed import Routed as Routed
    from npexplore.golden.captures.routed import forward_captures as forward_captures
    from npexplore.golden.checksum import header_checksum_is_right as header_checksum_is_right
    from npexplore.golden.checksum import internet_checksum as internet_checksum
    from npexplore.golden.checksum import update_checksum as update_checksum
    from npexplore.golden.classify import Classifier as Classifier
    from npexplore.golden.classify import LinearSearch as LinearSearch
    from npexplore.golden.classify import RangeMatcher as RangeMatcher
    from npexplore.golden.classify import TupleSpaceSearch as TupleSpaceSearch
    from npexplore.golden.classify.rule_files import load_rules as load_rules
    from npexplore.golden.classify.rule_generator import flow_rules as flow_rules
    from npexplore.golden.classify.rule_generator import generate_rules as generate_rules
    from npexplore.golden.classify.rule_generator import headers_within as headers_within
    from npexplore.golden.columns import Packets as Packets
    from npexplore.golden.diffserv import *  # noqa: F403
    from npexplore.golden.diffserv.experiments import DiffServBench as DiffServBench
    from npexplore.golden.diffserv.experiments import load_sweep as load_sweep
    from npexplore.golden.elements import Element as Element
    from npexplore.golden.elements import Graph as Graph
    from npexplore.golden.flow_counters import FlowCounters as FlowCounters
    from npexplore.golden.ipv4.addresses import prefix_mask as prefix_mask
    from npexplore.golden.ipv4.addresses import prefix_pair as prefix_pair
    from npexplore.golden.ipv4.five_tuple import FiveTuple as FiveTuple
    from npexplore.golden.ipv4.header import Header as Header
    from npexplore.golden.ipv4.header import read_header as read_header
    from npexplore.golden.ipv4.header import with_checksum as with_checksum
    from npexplore.golden.ipv4.header import write_packet as write_packet
    from npexplore.golden.ipv4.validate import validate_ipv4 as validate_ipv4
    from npexplore.golden.ipv4.validate import validate_ipv4_many as validate_ipv4_many
    from npexplore.golden.lookup import BinaryTrie as BinaryTrie
    from npexplore.golden.lookup import Dir24_8 as Dir24_8
    from npexplore.golden.lookup import LinearLpm as LinearLpm
    from npexplore.golden.lookup import LinearLpm6 as LinearLpm6
    from npexplore.golden.lookup import Lpm as Lpm
    from npexplore.golden.lookup import MemoryReads as MemoryReads
    from npexplore.golden.lookup import SixLevelTrie as SixLevelTrie
    from npexplore.golden.lookup import Trie20_4_8 as Trie20_4_8
    from npexplore.golden.lookup import route_cache_hit_ratio as route_cache_hit_ratio
    from npexplore.golden.mpls.stack import Label as Label
    from npexplore.golden.mpls.stack import write_stack as write_stack
    from npexplore.golden.mpls.switch import LabelEntry as LabelEntry
    from npexplore.golden.mpls.switch import LabelMap as LabelMap
    from npexplore.golden.mpls.switch import switch_labels as switch_labels
    from npexplore.golden.police import *  # noqa: F403
    from npexplore.golden.router.batch import BatchForwarder as BatchForwarder
    from npexplore.golden.router.batch import Frames as Frames
    from npexplore.golden.router.configuration import PortRecord as PortRecord
    from npexplore.golden.router.configuration import Router as Router
    from npexplore.golden.router.configuration import RouteRecord as RouteRecord
    from npexplore.golden.router.configuration import RouterFile as RouterFile
    from npexplore.golden.router.configuration import load_router as load_router
    from npexplore.golden.router.configuration import resolve_router as resolve_router
    from npexplore.golden.router.forward import Forwarder as Forwarder
    from npexplore.golden.router.profiles import PROFILES as PROFILES
    from npexplore.golden.schedule import *  # noqa: F403
    from npexplore.golden.token_rate import TokenRate as TokenRate
else:
    __all__, __getattr__, __dir__ = on_demand(__name__)
