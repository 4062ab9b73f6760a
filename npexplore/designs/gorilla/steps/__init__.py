"""Gorilla's router as step programs: what an engine does with a packet, and what its accelerators do (Secs. 2 to 4).

router        the steps that all protocols share, and programs for any set of protocols
ipv4, ipv6, mpls    the steps of a protocol
accelerators  trie lookups as step programs over a memory, label tables, flow counters, header checks
bodies        the pre-processor's split of a frame into header and body
"""

from npexplore.designs.gorilla.steps.accelerators import flow_counter, header_check, label_table, lookup, trie_program
from npexplore.designs.gorilla.steps.router import (
    PROTOCOLS,
    Box,
    accelerators,
    engine_program,
    forward,
    router_program,
)

__all__ = [
    "PROTOCOLS", "Box", "accelerators", "engine_program", "flow_counter", "forward", "header_check",
    "label_table", "lookup", "router_program", "trie_program",
]  # fmt: skip
