"""Decides when a router sends a redirect to a better first hop (RFC 1812 section 5.2.7.2).

Three conditions must hold: the packet leaves by its incoming port; its source is on the same network as the next hop;
it has no source route.
"""

import numpy as np
from numpy.typing import NDArray

from npexplore.golden.ipv4.addresses import prefix_mask
from npexplore.golden.ipv4.delivery import Links


def redirects(in_port: int, out_port: int, source: int, next_hop: int, source_routed: bool, links: Links) -> bool:
    """Say whether forwarding this packet calls for a redirect; next_hop: the destination if it is attached."""
    if in_port != out_port or source_routed:
        return False
    return any(links.holds(row, source) and links.holds(row, next_hop) for row in links.rows(in_port))


def redirects_many(
    in_port: NDArray[np.integer],
    out_port: NDArray[np.integer],
    source: NDArray[np.integer],
    next_hop: NDArray[np.integer],
    source_routed: NDArray[np.bool_],
    links: Links,
) -> NDArray[np.bool_]:
    """Return for many packets whether forwarding calls for a redirect."""
    incoming, ends = np.asarray(in_port), [np.asarray(column, np.int64) for column in (source, next_hop)]
    same_network = np.zeros(len(incoming), np.bool_)
    for row, (address, length) in enumerate(zip(links.address, links.length, strict=True)):
        on_link = incoming == (links.port[row] if links.port else row)
        same_network |= on_link & np.all([(end ^ address) & prefix_mask(length) == 0 for end in ends], axis=0)
    return np.asarray((in_port == out_port) & same_network & ~np.asarray(source_routed, np.bool_))
