"""The flow hash that chooses among several next hops: SipHash-2-4 of the flow's key, as in the Linux kernel.

Aumasson, Bernstein, "SipHash: a fast short-input PRF" (INDOCRYPT 2012). Both directions of a flow have the same key,
because its addresses and its ports are sorted. RFC 2991 and 2992 only require that a flow keeps one path, so both
profiles use this hash.
"""

from __future__ import annotations

from typing import NamedTuple

from npexplore.golden.ipv6.header import ICMP6
from npexplore.golden.linux.settings import CUSTOM, DESTINATION, DESTINATION_PORT, LABEL, PROTOCOL, SOURCE, SOURCE_PORT
from npexplore.golden.linux.settings import LinuxSettings as Settings

WORD = 0xFFFF_FFFF_FFFF_FFFF
START = 0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573
# offset of the ports behind the IP header, by protocol (AH and ESP: of the security parameters index)
PORTS_AT = {6: 0, 17: 0, 33: 0, 50: 0, 51: 4, 132: 0, 136: 0}
FOLLOWED = frozenset({0, 43, 60})  # IPv6 extension headers that are skipped; header 44 (fragment) ends the search
ICMP, AFTER_FRAGMENT, MOST_HEADERS = 1, 44, 15
QUOTING4, QUOTING6 = frozenset({3, 4, 5, 11, 12}), frozenset({1, 2, 3, 4})  # types of quoting errors


class Flow(NamedTuple):
    """The fields that identify a flow; fields that the settings exclude are 0. bits: address length, 32 or 128."""

    bits: int
    source: int
    destination: int
    protocol: int = 0
    label: int = 0
    source_port: int = 0
    destination_port: int = 0


def flow_hash(flow: Flow, settings: Settings, *, whole: bool = True) -> int:
    """Return the 31-bit hash that chooses a next hop. whole: hash of a packet, not of a reply yet to be written."""
    size = flow.bits // 8
    ends = sorted(
        (address.to_bytes(size, "big") for address in (flow.source, flow.destination)),
        key=lambda end: end if size > 4 else end[::-1],
    )
    ports = sorted((port.to_bytes(2, "big") for port in (flow.source_port, flow.destination_port)), key=_reversed)
    custom = settings.fib_multipath_hash_policy == CUSTOM  # this policy reverses the label's octets
    label = flow.label.to_bytes(4, "little" if custom else "big")
    head = bytes([0, 0, flow.protocol, 0]) + label + bytes(20)
    key = (head + b"".join(ports) + bytes(4) + b"".join(ends)).ljust(32 + 2 * size + 8, b"\0")
    seed = settings.fib_multipath_hash_seed
    value = siphash(key, seed << 32 | seed) & 0xFFFF_FFFF or 1
    if whole and custom:
        value = _mixed(value)
    return value >> 1


def _reversed(octets: bytes) -> bytes:
    return octets[::-1]


def siphash(data: bytes, half: int) -> int:
    """Return SipHash-2-4 of data in whole 8-byte words; both halves of the key are `half`."""
    state = [start ^ half for start in START]
    words = [int.from_bytes(data[at : at + 8], "little") for at in range(0, len(data), 8)]
    for word in (*words, len(data) % 256 << 56):
        state[3] ^= word
        _rounds(state, 2)
        state[0] ^= word
    state[2] ^= 0xFF
    _rounds(state, 4)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _rounds(v: list[int], times: int) -> None:
    def rotated(word: int, bits: int) -> int:
        return (word << bits | word >> 64 - bits) & WORD

    for _ in range(times):
        v[0] = v[0] + v[1] & WORD
        v[2] = v[2] + v[3] & WORD
        v[1], v[3] = rotated(v[1], 13) ^ v[0], rotated(v[3], 16) ^ v[2]
        v[0] = rotated(v[0], 32)
        v[2] = v[2] + v[1] & WORD
        v[0] = v[0] + v[3] & WORD
        v[1], v[3] = rotated(v[1], 17) ^ v[2], rotated(v[3], 21) ^ v[0]
        v[2] = rotated(v[2], 32)


def _mixed(number: int) -> int:
    """Return Jenkins' hash (lookup3) of a word and 0; the kernel combines outer and inner flow by it."""
    start = 0xDEADBEEF + 8
    state = [number + start & 0xFFFF_FFFF, start, start]
    for target, source, bits in ((2, 1, 14), (0, 2, 11), (1, 0, 25), (2, 1, 16), (0, 2, 4), (1, 0, 14), (2, 1, 24)):
        value = state[source]
        state[target] = (state[target] ^ value) - ((value << bits | value >> 32 - bits) & 0xFFFF_FFFF) & 0xFFFF_FFFF
    return state[2]


def flow_of(packet: bytes, settings: Settings) -> Flow:
    """Return the flow of an IP packet, with the fields that the settings select. Its IP header must be complete."""
    is_ipv6 = packet[0] >> 4 == 6
    if settings.fib_multipath_hash_policy == 0:
        return _ends6(packet) if is_ipv6 else _ends4(packet)
    protocol, ports = _transport6(packet) if is_ipv6 else _transport4(packet)
    at, size = (8, 16) if is_ipv6 else (12, 4)
    ends = _number(packet[at : at + size]), _number(packet[at + size : at + 2 * size])
    label = _number(packet[1:4]) & 0xFFFFF if is_ipv6 else 0
    return chosen_fields(Flow(8 * size, *ends, protocol, label, _number(ports[:2]), _number(ports[2:])), settings)


def chosen_fields(flow: Flow, settings: Settings) -> Flow:
    """Return a flow with the fields that the settings exclude set to 0."""
    fields = settings.hash_fields(flow.bits)
    allowed = (SOURCE, DESTINATION, PROTOCOL, LABEL, SOURCE_PORT, DESTINATION_PORT)
    return Flow(flow.bits, *(value if fields & bit else 0 for value, bit in zip(flow[1:], allowed, strict=True)))


def _number(octets: bytes) -> int:
    return int.from_bytes(octets, "big")


def _ends4(packet: bytes) -> Flow:
    """Return the addresses of a packet; for an ICMP error those of the packet that it quotes."""
    at, fragment_offset = 4 * (packet[0] & 15), packet[6] & 31 or packet[7]
    if packet[9] == ICMP and not fragment_offset and len(packet) >= at + 28 and packet[at] in QUOTING4:
        packet = packet[at + 8 :]
    return Flow(32, _number(packet[12:16]), _number(packet[16:20]))


def _ends6(packet: bytes) -> Flow:
    """Return addresses, flow label and next header of a packet; for an ICMP error those of the quoted packet."""
    if packet[6] == ICMP6 and len(packet) >= 88 and packet[40] in QUOTING6:
        packet = packet[48:]
    label = _number(packet[1:4]) & 0xFFFFF
    return Flow(128, _number(packet[8:24]), _number(packet[24:40]), packet[6], label)


def _transport4(packet: bytes) -> tuple[int, bytes]:
    """Return the protocol and the 4 octets of the ports, 0 for a fragment."""
    protocol, is_fragment = packet[9], packet[6] & 0x3F or packet[7]
    return protocol, bytes(4) if is_fragment else _ports(packet, 4 * (packet[0] & 15), protocol)


def _transport6(packet: bytes) -> tuple[int, bytes]:
    """Return the protocol behind the skipped extension headers, and the 4 octets of its ports."""
    protocol, at = packet[6], 40
    for _ in range(MOST_HEADERS):
        if protocol == AFTER_FRAGMENT:
            return (packet[at] if len(packet) >= at + 8 else protocol), bytes(4)
        if protocol not in FOLLOWED:
            break
        if len(packet) < at + 2:
            return protocol, bytes(4)
        protocol, at = packet[at], at + 8 * packet[at + 1] + 8
    return protocol, _ports(packet, at, protocol)


def _ports(packet: bytes, at: int, protocol: int) -> bytes:
    start = at + PORTS_AT.get(protocol, len(packet))
    ports = packet[start : start + 4]
    return ports if len(ports) == 4 else bytes(4)
