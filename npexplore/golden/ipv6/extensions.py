"""Parses the chain of extension headers (RFC 8200 section 4) from the IPv6 header to the transport protocol.

A header has (length field + 1) * 8 bytes; the fragment header has 8 (section 4.5), the authentication header
(length field + 2) * 4 (RFC 4302 section 2.2). The chain ends at any other header, at encrypted payload (RFC 4303), and
at a non-first fragment, behind which there is no header (section 4.5). A packet with hop-by-hop options and a payload
length of 0 is a jumbogram, which has at least 65,536 bytes (RFC 2675 section 3).
"""

from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_ipv6 as kernels
from npexplore.golden.columns import Packets
from npexplore.golden.ipv6.header import SHORTEST, read_header
from npexplore.golden.ipv6.validate import validate
from npexplore.golden.reasons import Reason

T = TypeVar("T", int, NDArray[Any])
HOP_BY_HOP, ROUTING, FRAGMENT, AUTHENTICATION, DESTINATION_OPTIONS = 0, 43, 44, 51, 60
# IANA: IPv6 extension header types; mobility (RFC 6275), host identity (RFC 7401), shim6 (RFC 5533)
CHAINED = frozenset({HOP_BY_HOP, ROUTING, FRAGMENT, AUTHENTICATION, DESTINATION_OPTIONS, 135, 139, 140})


class Chain(NamedTuple, Generic[T]):
    """The fault of a chain (0: none) and its offset in the packet; the protocol at its end and the offset of that.

    headers: number of extension headers. For a packet that fails `validate`: only the reason.
    """

    reason: T
    pointer: T
    protocol: T
    at: T
    headers: T


def read_chain(packet: bytes) -> "Chain[int]":
    """Return the chain of one packet."""
    reason = validate(packet)
    if reason:
        return Chain(reason, 0, 0, 0, 0)
    header = read_header(packet)
    if header.next_header == HOP_BY_HOP and not header.payload_length:
        return Chain(Reason.JUMBOGRAM, 0, HOP_BY_HOP, SHORTEST, 0)
    end = SHORTEST + header.payload_length
    protocol, at, type_at, count = header.next_header, SHORTEST, 6, 0  # type_at: offset of the next header's type
    while protocol in CHAINED:
        if protocol == HOP_BY_HOP and at != SHORTEST:
            return Chain(Reason.HOP_BY_HOP_LATE, type_at, protocol, at, count)
        if at + 8 > end:
            return Chain(Reason.EXTENSION_CUT, at, protocol, at, count)
        size = 8 * packet[at + 1] + 8
        if protocol == FRAGMENT:
            size = 8
        elif protocol == AUTHENTICATION:
            size = 4 * packet[at + 1] + 8
        if at + size > end:
            return Chain(Reason.EXTENSION_CUT, at, protocol, at, count)
        non_first = protocol == FRAGMENT and (packet[at + 2] << 8 | packet[at + 3]) >> 3 != 0
        protocol, type_at, at, count = packet[at], at, at + size, count + 1
        if non_first:
            return Chain(Reason.NONE, 0, FRAGMENT, at, count)
    return Chain(Reason.NONE, 0, protocol, at, count)


def read_chains(packets: Packets) -> "Chain[NDArray[Any]]":
    """Return the chains of many packets as columns."""
    columns = np.zeros((len(Chain._fields), len(packets)), np.int64)
    kernels.chains(packets.buffer, packets.offset, packets.length, columns)
    return Chain(*columns)
