"""The five fields that classify a packet: addresses, ports and protocol, of one header or as columns.

Ports are those of TCP, UDP, UDP-Lite, DCCP and SCTP, whose headers begin with both. They are 0 for other protocols,
non-first fragments (RFC 791 section 3.2), and packets that end before them.
"""

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import InputError
from npexplore.golden.columns import Packets
from npexplore.golden.ipv4.addresses import Address, address_number
from npexplore.golden.ipv4.header import SHORTEST, read_header, read_headers
from npexplore.packets import PacketTable

T = TypeVar("T", int, NDArray[Any])

BITS = (32, 32, 16, 16, 8)  # of each field
TYPES = (np.uint32, np.uint32, np.uint16, np.uint16, np.uint8)
# IANA assigned internet protocol numbers, by the names that rules use
PROTOCOLS = {
    "icmp": 1, "igmp": 2, "tcp": 6, "udp": 17, "dccp": 33, "gre": 47, "esp": 50, "ah": 51, "ospf": 89, "sctp": 132,
    "udplite": 136,
}  # fmt: skip
WITH_PORTS = tuple(PROTOCOLS[name] for name in ("tcp", "udp", "dccp", "sctp", "udplite"))


class FiveTuple(NamedTuple, Generic[T]):
    """Five header fields as numbers, or as columns of numbers.

    Example:
        >>> from npexplore.golden import FiveTuple
        >>> FiveTuple(1, 2, 53, 1024, 17).destination_port
        1024
    """

    source: T
    destination: T
    source_port: T
    destination_port: T
    protocol: T


FIELDS = FiveTuple._fields
Columns = FiveTuple[NDArray[Any]]


def five_tuple(header: "FiveTuple[int] | Sequence[Address]") -> "FiveTuple[int]":
    """Return five fields as checked numbers; addresses may be text or `ipaddress` objects. Raises InputError."""
    if len(header) != len(FIELDS):
        raise InputError(f"header must have {len(FIELDS)} fields ({', '.join(FIELDS)}), got {len(header)}")
    source, destination, *rest = header
    for name, bits, value in zip(FIELDS[2:], BITS[2:], rest, strict=True):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 <= value < 1 << bits:
            raise InputError(f"{name} of a header must be 0 to {(1 << bits) - 1}, got {value!r}")
    return FiveTuple(address_number(source), address_number(destination), *map(int, rest))


def five_columns(headers: Columns) -> Columns:
    """Return columns with the types of TYPES, without copies if they have them; raises InputError for wrong columns."""
    columns = []
    for name, bits, kind, values in zip(FIELDS, BITS, TYPES, headers, strict=True):
        column = np.asarray(values)
        if column.shape != np.shape(headers[0]) or column.ndim != 1 or (column.size and column.dtype.kind not in "iu"):
            raise InputError(f"{name} must be one column of integers, as long as the others, got {column.dtype}")
        if column.dtype != kind and column.size and (column.min() < 0 or column.max() >= 1 << bits):
            got = f"{column.min()} to {column.max()}"
            raise InputError(f"{name} of headers must be 0 to {(1 << bits) - 1}, got {got}")
        columns.append(np.ascontiguousarray(column, kind))
    return FiveTuple(*columns)


def read_five_tuple(packet: bytes) -> "FiveTuple[int]":
    """Return the five fields of a packet; all 0 for a packet below 20 bytes."""
    header = read_header(packet)
    source_port, destination_port = 0, 0
    at = header.header_length
    if header.protocol in WITH_PORTS and header.fragment_offset == 0 and at >= SHORTEST and len(packet) >= at + 4:
        source_port, destination_port = packet[at] << 8 | packet[at + 1], packet[at + 2] << 8 | packet[at + 3]
    return FiveTuple(header.source, header.destination, source_port, destination_port, header.protocol)


def read_five_tuples(packets: Packets) -> Columns:
    """Return the five fields of many packets as columns."""
    header = read_headers(packets)
    at = header.header_length
    has_ports = np.isin(header.protocol, WITH_PORTS) & (header.fragment_offset == 0)
    has_ports &= (at >= SHORTEST) & (packets.length >= at + 4)
    begin = (packets.offset + at)[has_ports]

    def port(start: int) -> NDArray[np.uint16]:
        column = np.zeros(len(packets), np.uint16)
        column[has_ports] = packets.buffer[begin + start].astype(np.uint16) << 8 | packets.buffer[begin + start + 1]
        return column

    source, destination = header.source.astype(np.uint32), header.destination.astype(np.uint32)
    return FiveTuple(source, destination, port(0), port(2), header.protocol.astype(np.uint8))


def table_five_tuples(table: PacketTable) -> Columns:
    """Return the five fields of a capture's packets, one row each; all 0 in rows that are not IPv4."""
    names = ("src", "dst", "sport", "dport", "ip_proto")
    ipv4 = table["ipv4"]
    source, destination, source_port, destination_port, protocol = (
        np.where(ipv4, table[name], 0).astype(kind) for name, kind in zip(names, TYPES, strict=True)
    )
    return FiveTuple(source, destination, source_port, destination_port, protocol)
