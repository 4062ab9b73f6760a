"""Labels that a route puts on its packets, checked: the map from classes of packets to labels (RFC 3031 section 3.11).

A route that pushes has a next hop, and its link must carry the smallest MTU of the protocol below the labels: then
RFC 3032 section 3.5 never has to cut a packet of IPv6.
"""

from npexplore.errors import InputError, told_at
from npexplore.golden.mpls.impose import prepared_stack
from npexplore.golden.mpls.stack import ENTRY, FIRST_FREE, check_outgoing
from npexplore.golden.router.records import RouteRecord


def pushed_stack(place: str, route: RouteRecord, mtu: int, *, smallest: int, null: int) -> bytes:
    """Return the stack that a route pushes (`impose`), empty without; raises InputError naming the place.

    mtu: of the port it goes out by; smallest: what must be left below the labels; null: the explicit null of the
    route's protocol, the only one that may stand at the bottom (RFC 3032 section 2.1).
    """
    if not route.push:
        if route.ttl != "uniform":
            raise InputError(f"{place}: ttl is of the labels that a route pushes; push is missing")
        return b""
    if route.via is None:
        raise InputError(f"{place}: a route that pushes labels needs via: their next hop (RFC 3031 section 3.10)")
    with told_at(place):
        for label in route.push:
            check_outgoing(label)
    if route.push[-1] < FIRST_FREE and route.push[-1] != null:
        raise InputError(f"{place}: explicit null at the bottom must be {null} for this prefix, got {route.push[-1]}")
    left = mtu - ENTRY * len(route.push)
    if left < smallest:
        raise InputError(
            f"{place}: {len(route.push)} labels leave {left} bytes of the link's MTU of {mtu}, needed are {smallest}"
        )
    return prepared_stack(route.push, route.ttl)
