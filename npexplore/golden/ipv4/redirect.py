"""When a router tells a sender of a better first hop (RFC 1812 section 5.2.7.2).

All three: the packet leaves by the port it came from; its source is on the same network as the next hop; it has no
source route.
"""

import numpy as np
from numpy.typing import NDArray

from npexplore.golden.ipv4.addresses import mask_of
from npexplore.golden.ipv4.delivery import Links
from npexplore.golden.pairs import Pair


def redirects(in_port: int, out_port: int, source: int, next_hop: int, source_routed: bool, links: Links) -> bool:
    """Return whether forwarding this packet calls for a redirect; next_hop is the destination if that is attached."""
    same_network = links.has(in_port, source) and links.has(in_port, next_hop)
    return in_port == out_port and same_network and not source_routed


def redirects_many(
    in_port: NDArray[np.integer],
    out_port: NDArray[np.integer],
    source: NDArray[np.integer],
    next_hop: NDArray[np.integer],
    source_routed: NDArray[np.bool_],
    links: Links,
) -> NDArray[np.bool_]:
    """Return the same for columns."""
    mask = np.array([mask_of(length) for length in links.length], np.int64)[in_port]
    network = np.array(links.address, np.int64)[in_port] & mask
    same_network = (np.asarray(source, np.int64) & mask == network) & (np.asarray(next_hop, np.int64) & mask == network)
    return np.asarray((in_port == out_port) & same_network & ~np.asarray(source_routed, np.bool_))


PAIRS = [Pair(redirects, redirects_many, "forwardings", "link_tables")]
