"""ICMP elements after Click's manual: errors about packets, and answers to echo requests."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from npexplore.errors import InputError
from npexplore.golden.checksum import internet_checksum, update_checksum
from npexplore.golden.elements.base import Element, Out, Pack, address, limited, number, truth
from npexplore.golden.elements.names import named
from npexplore.golden.ipv4.addresses import MAX_ADDRESS
from npexplore.golden.ipv4.header import with_checksum
from npexplore.golden.ipv4.options import read_options
from npexplore.golden.reasons import Reason

ICMP, ECHO, UNREACHABLE, REDIRECT, PARAMETER_PROBLEM = 1, 8, 3, 5, 12
ICMP_TYPES = {"unreachable": 3, "sourcequench": 4, "redirect": 5, "timeexceeded": 11, "parameterproblem": 12}
ICMP_CODES = {
    3: {"net": 0, "host": 1, "protocol": 2, "port": 3, "needfrag": 4},
    5: {"net": 0, "host": 1},
    11: {"transit": 0, "reassembly": 1},
    12: {"erroratptr": 0, "missingopt": 1, "length": 2},
}
SOURCE_ROUTES = (131, 137)
ERROR_TTL, REPLY_TTL = 200, 255


class ICMPError(Element):
    """Answers a packet with an ICMP error if one may be sent: `ICMPError(10.0.0.1, timeexceeded, transit)`.

    BADADDRS: packets from or to these addresses get no error; nor do multicast and 255.255.255.255. MTU: the longest
    error in bytes, default 576. PMTU: the MTU in "fragmentation needed" errors. SET_FIX_ANNO false: FixIPSrc does not
    change its source.
    """

    PROCESSING, ARGUMENTS, STORES = "h/h", (2, 4), True  # an error causes no further error, so a cycle is safe

    POSITIONS: ClassVar[tuple[str, ...]] = ("SRC", "TYPE")

    def configure(self, *arguments: str) -> None:
        """Read the router's address, type and code by name or number, and the addresses of BADADDRS."""
        self.address = address(arguments[0])
        kind, code = arguments[1].lower(), self.said.value("CODE", arguments[2] if len(arguments) > 2 else "0").lower()
        self.type = ICMP_TYPES[kind] if kind in ICMP_TYPES else limited("type of ICMP", kind, 255)
        if self.type not in ICMP_TYPES.values():
            raise InputError(f"type {self.type} of ICMP is no error (errors: {', '.join(ICMP_TYPES)})")
        codes = ICMP_CODES.get(self.type, {})
        self.code = codes[code] if code in codes else limited("code of ICMP", code, 255)
        bad_addresses = self.said.value("BADADDRS", arguments[3] if len(arguments) > 3 else "")
        self.unanswered = {address(named(bad_address, "ip")) for bad_address in bad_addresses.split()}
        self.mtu = number(self.said.value("MTU", "576"))
        self.path_mtu = limited("PMTU", self.said.value("PMTU", "0"), 0xFFFF)
        self.fixes = truth("SET_FIX_ANNO", self.said.value("SET_FIX_ANNO", "true"))
        if self.mtu < 68:
            raise InputError(f"MTU must be at least 68 bytes, got {self.mtu}")
        self.identification = 0

    def _silent(self, packet: bytes) -> bool:
        """Say whether no error may be sent about a packet (RFC 1812 section 4.3.2.7)."""
        size = 4 * (packet[0] & 15) if packet else 0
        if len(packet) < 20 or (packet[6] & 0x1F) << 8 | packet[7]:
            return True
        if packet[9] == ICMP and (len(packet) < size + 4 or packet[size] in ICMP_TYPES.values()):
            return True
        ends = [int.from_bytes(packet[at : at + 4], "big") for at in (12, 16)]
        no_host = any(end == MAX_ADDRESS or end >> 28 == 14 or end in self.unanswered for end in ends)
        return no_host or packet[12] in (0, 127) or packet[12] >= 240

    def take(self, pack: Pack, port: int) -> Out:
        """Return the error to the sender, or drop the packet."""
        packet = pack.packet
        route = self._source_route(packet, pack.pointer) if not self._silent(packet) else None
        redirected = route is not None and len(route) > 0 and self.type == REDIRECT
        if route is None or redirected or pack.link_broadcast:
            return [(-1, pack if pack.reason else replace(pack, reason=Reason.MARTIAN_SOURCE))]
        rest = bytes(4)
        if (self.type, self.code) == (PARAMETER_PROBLEM, 0):
            rest = bytes([pack.pointer, 0, 0, 0])
        elif self.type == REDIRECT:
            rest = pack.target.to_bytes(4, "big")
        elif (self.type, self.code) == (UNREACHABLE, 4):
            rest = self.path_mtu.to_bytes(4, "big")
        quoted = packet[: self.mtu - 28 - len(route)]
        message = bytes([self.type, self.code, 0, 0]) + rest + quoted
        message = message[:2] + internet_checksum(message).to_bytes(2, "big") + message[4:]
        self.identification = self.identification % 0xFFFF + 1
        length = 20 + len(route) + len(message)
        head = bytes([0x45 + len(route) // 4, 0, *length.to_bytes(2, "big"), *self.identification.to_bytes(2, "big")])
        head += bytes([0, 0, ERROR_TTL, ICMP, 0, 0]) + self.address.to_bytes(4, "big") + packet[12:16] + route
        target = int.from_bytes(packet[12:16], "big")
        return [(0, Pack(with_checksum(head) + message, pack.device, target=target, fix_source=self.fixes))]

    def _source_route(self, packet: bytes, pointer: int) -> bytes:
        """Return the option with the recorded part of a source route reversed (RFC 1812 section 4.3.2.6), or b""."""
        for option in read_options(packet).options:
            octets = option.octets
            if option.kind not in SOURCE_ROUTES or len(octets) < 3:
                continue
            if octets[2] < 4 or octets[2] % 4 or octets[2] > len(octets) + 1:
                continue
            reports_parameter = (self.type, self.code) == (PARAMETER_PROBLEM, 0)
            if reports_parameter and option.offset <= pointer < option.offset + len(octets):
                return b""
            recorded = octets[3 : octets[2] - 1]
            slots = [recorded[at : at + 4] for at in range(0, len(recorded) - 3, 4)]
            option_back = bytes([octets[0], octets[2] - 1, 4]) + b"".join(reversed(slots))
            return option_back + bytes(-len(option_back) % 4)
        return b""


class ICMPPingResponder(Element):
    """Answers echo requests (RFC 792), with TTL 255 and unfragmented; other packets leave by output 1."""

    OUTPUTS, PROCESSING, ARGUMENTS = (1, 2), "a/ah", (0, 0)

    def take(self, pack: Pack, port: int) -> Out:
        """Return the reply; its checksums are updated incrementally (RFC 1624)."""
        packet = pack.packet
        start = 4 * (packet[0] & 15) if packet else 0
        if len(packet) < start + 8 or packet[9] != ICMP or packet[start] != ECHO:
            return [(1, pack) if self.outputs > 1 else (-1, replace(pack, reason=Reason.LOCAL_DELIVERY))]
        fragment_word, ttl_protocol = packet[6] << 8 | packet[7], packet[8] << 8 | packet[9]
        total = update_checksum(packet[10] << 8 | packet[11], fragment_word, 0)
        total = update_checksum(total, ttl_protocol, REPLY_TTL << 8 | ICMP)
        head = packet[:6] + bytes([0, 0, REPLY_TTL, ICMP]) + total.to_bytes(2, "big") + packet[16:20] + packet[12:16]
        icmp_sum = packet[start + 2] << 8 | packet[start + 3]
        reply_sum = update_checksum(icmp_sum, ECHO << 8 | packet[start + 1], 0)
        reply = head + packet[20:start] + bytes(2) + reply_sum.to_bytes(2, "big") + packet[start + 4 :]
        target = int.from_bytes(packet[12:16], "big")
        return [(0, pack.with_packet(reply, target=target, paint=0))]
