"""Header fields of IPv4 and its transport protocols, by their names in Click's filters, and tests of them on packets.

A test of a field fails for packets that do not hold the whole field, and for non-first fragments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

Test = Callable[[bytes], bool]
TCP, UDP, ICMP, DCCP = 6, 17, 1, 33
TCP_OR_UDP, ANY_TRANSPORT = (TCP, UDP), ()
PROTOCOLS: dict[str, tuple[int, ...]] = {
    "icmp": (ICMP,), "igmp": (2,), "ipip": (4,), "tcp": (TCP,), "udp": (UDP,), "dccp": (DCCP,), "gre": (47,),
    "sctp": (132,), "tcpudp": TCP_OR_UDP, "transp": ANY_TRANSPORT, "payload": ANY_TRANSPORT,
}  # fmt: skip
SERVICES = {
    "auth": 113, "bootpc": 68, "bootps": 67, "chargen": 19, "daytime": 13, "discard": 9, "dns": 53, "domain": 53,
    "echo": 7, "finger": 79, "ftp": 21, "ftp-data": 20, "http": 80, "https": 443, "imap3": 220, "imaps": 993,
    "irc": 194, "netbios-dgm": 138, "netbios-ns": 137, "netbios-ssn": 139, "nntp": 119, "ntp": 123, "pop3": 110,
    "pop3s": 995, "pptp": 1723, "rip": 520, "route": 520, "smtp": 25, "snmp": 161, "snmp-trap": 162, "ssh": 22,
    "sunrpc": 111, "telnet": 23, "tftp": 69, "www": 80,
}  # fmt: skip
ICMP_NAMES = {
    "echo-reply": 0, "unreachable": 3, "sourcequench": 4, "redirect": 5, "echo": 8, "routeradvert": 9,
    "routersolicit": 10, "timeexceeded": 11, "parameterproblem": 12, "timestamp": 13, "timestamp-reply": 14,
    "inforeq": 15, "inforeq-reply": 16, "maskreq": 17, "maskreq-reply": 18,
}  # fmt: skip
FLAGS = {"fin": 1, "syn": 2, "rst": 4, "psh": 8, "ack": 16, "urg": 32}
NAMES = {"port": SERVICES, "opt": FLAGS, "type": ICMP_NAMES}  # named values, by their field


class Field(NamedTuple):
    """A bit field of the IP header (protocols None), or of the transport header of these protocols (empty: any)."""

    protocols: tuple[int, ...] | None
    bit: int
    bits: int


FIELDS = {
    "vers": Field(None, 0, 4), "hl": Field(None, 4, 4), "tos": Field(None, 8, 8), "dscp": Field(None, 8, 6),
    "ect": Field(None, 14, 2), "len": Field(None, 16, 16), "id": Field(None, 32, 16), "ttl": Field(None, 64, 8),
    "proto": Field(None, 72, 8), "win": Field((TCP,), 112, 16), "type": Field((ICMP,), 0, 8),
}  # fmt: skip
ENDS = {"host": (12, 16), "net": (12, 16), "port": (0, 2)}
BARE = ("frag", "unfrag", "ce")


def carries(protocols: Sequence[int], name: str) -> bool:
    """Say whether one of these protocols (none: any) has the field."""
    field_protocols = {"port": (TCP, UDP, DCCP), "opt": (TCP,), "type": (ICMP,)}[name]
    return any(protocol in field_protocols for protocol in protocols) or not protocols


def largest(kind: str, field: Field | None) -> int:
    """Return the largest value of a field."""
    if kind == "port":
        return 0xFFFF
    if kind == "opt":
        return 0xFF
    limit = field if kind == "bytes" and field is not None else FIELDS[kind]
    return (1 << limit.bits) - 1


def bare_test(kind: str) -> Test:
    """Return the test of a primitive without a value."""
    if kind == "ce":
        return lambda packet: packet[1] & 3 == 3
    return lambda packet: bool((packet[6] << 8 | packet[7]) & 0x3FFF) is (kind == "frag")


def of_protocols(protocols: Sequence[int], test: Test) -> Test:
    """Return a test that also requires one of these protocols; none: any."""
    numbers = frozenset(protocols)
    return (lambda packet: packet[9] in numbers and test(packet)) if numbers else test


def read_field(packet: bytes, field: Field) -> int | None:
    """Return the value of a field, None if the packet does not hold it or is a non-first fragment."""
    base = 0
    if field.protocols is not None:
        if (packet[6] << 8 | packet[7]) & 0x1FFF:
            return None
        base = 4 * (packet[0] & 15)
    begin, end = field.bit // 8, (field.bit + field.bits + 7) // 8
    if len(packet) < base + end:
        return None
    number = int.from_bytes(packet[base + begin : base + end], "big")
    return number >> 8 * end - field.bit - field.bits & (1 << field.bits) - 1


def of_field(field: Field, holds: Callable[[int], bool]) -> Test:
    """Return a test of a field; it fails for packets without the field."""

    def test(packet: bytes) -> bool:
        number = read_field(packet, field)
        return number is not None and holds(number)

    return test


def of_ends(way: str, ends: Sequence[Field], holds: Callable[[int], bool], opposite: bool) -> Test:
    """Return a test of the source, the destination, both, or either ("", "src or dst"); opposite: the complement."""
    chosen = {"src": ends[:1], "dst": ends[1:]}.get(way, ends)
    joined = all if way == "src and dst" else any

    def test(packet: bytes) -> bool:
        numbers = [read_field(packet, end) for end in chosen]
        if opposite:
            return None not in numbers and not joined(holds(number) for number in numbers if number is not None)
        return joined(number is not None and holds(number) for number in numbers)

    return test
