"""Where the Linux kernel's IPv6 forwarding departs from the RFCs, as recorded in tests/oracle.

It looks into hop-by-hop options alone, and says that there is no route about `unreachable` ones and to the unspecified
address.
"""

from __future__ import annotations

from dataclasses import replace

from npexplore.golden.ipv6.extensions import HOP_BY_HOP
from npexplore.golden.ipv6.header import SHORTEST
from npexplore.golden.ipv6.scope import martian
from npexplore.golden.ipv6.stages import AFTER, BEFORE, CHAIN, MARTIANS, RFC8200, tell
from npexplore.golden.reasons import Reason
from npexplore.golden.router.sides import Side6
from npexplore.golden.router.walk import Walk6


def martians(side: Side6, walk: Walk6) -> Reason:
    """Refuse addresses that cannot be; the unspecified address is one without a route."""
    reason = martian(walk.header.source, walk.header.destination)
    nowhere = reason is Reason.MARTIAN_DESTINATION6 and not walk.header.destination
    return Reason.NONE if nowhere else reason


def first_header(side: Side6, walk: Walk6) -> Reason:
    """Look whether the hop-by-hop options are whole, and at no other extension header."""
    if walk.header.next_header != HOP_BY_HOP:
        return Reason.NONE
    if not walk.header.payload_length:
        return Reason.JUMBOGRAM
    whole = len(walk.packet) >= SHORTEST + 8 and len(walk.packet) >= SHORTEST + 8 * walk.packet[SHORTEST + 1] + 8
    return Reason.NONE if whole else Reason.EXTENSION_CUT


def tell_no_route(side: Side6, walk: Walk6, reason: Reason) -> None:
    """Send the error that a reason calls for."""
    tell(side, walk, Reason.NO_ROUTE6 if reason is Reason.UNREACHABLE6 else reason)


LINUX6 = replace(
    RFC8200,
    stages=(
        *BEFORE,
        replace(MARTIANS, run=martians),
        replace(CHAIN, exits=(Reason.JUMBOGRAM, Reason.EXTENSION_CUT), run=first_header),
        *AFTER,
    ),
    tell=tell_no_route,
    whole_chain=False,
)
