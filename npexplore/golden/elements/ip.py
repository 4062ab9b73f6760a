"""IPv4 elements over the golden functions: check, look up, TTL, fragments, header checksums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from npexplore.errors import InputError
from npexplore.golden.checksum import internet_checksum
from npexplore.golden.elements.base import ANY, Element, Out, Pack, address, number, truth
from npexplore.golden.elements.names import named
from npexplore.golden.ipv4.addresses import MAX_ADDRESS, address_number, prefix_mask
from npexplore.golden.ipv4.fragment import fragment
from npexplore.golden.ipv4.header import DF, read_header, with_checksum
from npexplore.golden.ipv4.ttl import decrement_ttl
from npexplore.golden.ipv4.validate import validate_ipv4
from npexplore.golden.lookup import LPMS
from npexplore.golden.reasons import Reason

ADDRESS_AT = {"src": 12, "dst": 16}  # offsets in the header


class CheckIPHeader(Element):
    """Checks the IP header (RFC 1812 section 5.2.2) and refuses listed sources; bad packets leave by output 1.

    BADSRC: refused sources, except in packets to an address of GOODDST. `INTERFACES 10.0.0.1/8` replaces both lists:
    refused are the broadcast addresses of these networks, 0.0.0.0 and 255.255.255.255, except in packets to the
    interfaces' addresses. CHECKSUM false: checksums are not checked.
    """

    OUTPUTS, PROCESSING, ARGUMENTS, TIMED = (1, 2), "a/ah", (0, 2), "checkipheader"
    IRRELEVANT: ClassVar[Mapping[str, str]] = dict.fromkeys(("VERBOSE", "DETAILS"), "what is printed and counted")

    def configure(self, *arguments: str) -> None:
        """Read the refused sources, blank-separated, and the header's offset, or keywords."""
        offsets = [text for text in arguments if text.isdigit()]
        lists = [text for text in arguments if not text.isdigit()]
        if len(offsets) > 1 or len(lists) > 1:
            raise InputError(f"it has one list of addresses and one offset, got {', '.join(arguments)!r}")
        self.offset = number(self.said.value("OFFSET", offsets[0] if offsets else "0"))
        self.sums = truth("CHECKSUM", self.said.value("CHECKSUM", "true"))
        interfaces = self.said.value("INTERFACES", "").split()
        self.refused = {address(network) for network in self.said.value("BADSRC", "").split()}
        self.welcome = {address(network) for network in self.said.value("GOODDST", "").split()}
        if interfaces:  # as in Click, they replace both lists
            networks = [prefix(network) for network in interfaces]
            self.welcome = {address(network.partition("/")[0]) for network in interfaces}
            self.refused = {0, MAX_ADDRESS, *(value | MAX_ADDRESS & ~prefix_mask(n) for value, n in networks)}
        if lists:  # Click's older syntax
            self.refused = {0, MAX_ADDRESS, *(address(network) for network in lists[0].split())}

    def take(self, pack: Pack, port: int) -> Out:
        """Return the packet without the link's padding; packets that fail leave by output 1."""
        data = pack.data[self.offset :]
        reason = validate_ipv4(data)
        if reason == Reason.BAD_CHECKSUM and not self.sums:
            reason = Reason.NONE
        header = read_header(data)
        if not reason and header.source in self.refused and header.destination not in self.welcome:
            reason = Reason.MARTIAN_SOURCE
        if reason:
            return [(1, replace(pack, reason=reason))]
        end = self.offset + header.total_length
        return [(0, replace(pack, data=pack.data[:end], target=header.destination, network=self.offset))]


class MarkIPHeader(Element):
    """Marks the beginning of the IP header: an offset, or the packet's start; checks nothing."""

    ARGUMENTS = (0, 1)

    def configure(self, *arguments: str) -> None:
        """Read the offset."""
        self.offset = number(self.said.value("OFFSET", arguments[0] if arguments else "0"))

    def take(self, pack: Pack, port: int) -> Out:
        """Return the packet with its header's offset."""
        return [(0, replace(pack, network=self.offset))]


class GetIPAddress(Element):
    """Sets the destination annotation to the address at an offset: `GetIPAddress(16)`, `GetIPAddress(IP src)`."""

    ARGUMENTS, TIMED = (0, 1), "getipaddress"

    def configure(self, *arguments: str) -> None:
        """Read the offset from the packet's start, or the name of an address of the IP header."""
        field = self.said.value("IP", "")
        offset = self.said.value("OFFSET", arguments[0] if arguments else "")
        if bool(field) == bool(offset) or field not in ("", "src", "dst"):
            raise InputError("it has an offset, IP src or IP dst")
        self.offset, self.in_header = ADDRESS_AT[field] if field else number(offset), bool(field)

    def take(self, pack: Pack, port: int) -> Out:
        """Return the packet with its target; it is 0.0.0.0 if the packet ends before the offset."""
        data = pack.packet if self.in_header else pack.data
        return [(0, replace(pack, target=int.from_bytes(data[self.offset : self.offset + 4], "big")))]


class LookupIPRoute(Element):
    """Longest prefix match of the target: routes `PREFIX [GATEWAY] OUTPUT`; of equal prefixes the first one wins."""

    OUTPUTS, PROCESSING, ARGUMENTS, TIMED = (1, ANY), "h/h", (1, ANY), "lookupiprouter"
    FREE = True

    def configure(self, *arguments: str) -> None:
        """Insert the routes into a table of the golden router."""
        self.hops: list[tuple[int, int]] = []
        prefixes: set[tuple[int, int]] = set()
        self.table = LPMS["binary_trie"]()
        for text in arguments:
            parts = text.split()
            if len(parts) not in (2, 3):
                raise InputError(f"a route is PREFIX [GATEWAY] OUTPUT, got {text!r}")
            value, length = prefix(parts[0])
            via = address(parts[1]) if len(parts) == 3 and parts[1] != "-" else 0
            self.hops.append((number(parts[-1]), via))
            if (value, length) not in prefixes:
                self.table.insert(f"{_dotted(value)}/{length}", len(self.hops) - 1)
            prefixes.add((value, length))
        self.named_outputs = max(output for output, _ in self.hops) + 1

    def take(self, pack: Pack, port: int) -> Out:
        """Send the packet to the output of its route, with the gateway as target; drop it without a route."""
        next_hop = self.table.lookup(pack.target)
        if next_hop is None:
            return [(-1, replace(pack, reason=Reason.NO_ROUTE))]
        output, via = self.hops[next_hop]
        return [(output, replace(pack, target=via or pack.target))]


class LookupIPRouter(LookupIPRoute):
    """An alias, as the SoCLIB paper names the element."""


class StaticIPLookup(LookupIPRoute):
    """The same lookup: the graph does not distinguish table structures."""


class LinearIPLookup(LookupIPRoute):
    """The same lookup: the graph does not distinguish table structures."""


class RadixIPLookup(LookupIPRoute):
    """The same lookup: the graph does not distinguish table structures."""


def _dotted(value: int) -> str:
    return ".".join(str(value >> shift & 255) for shift in (24, 16, 8, 0))


def prefix(text: str) -> tuple[int, int]:
    """Return (value, length) of `10.0.0.0/8`, `10.0.0.0/255.0.0.0` or an address; host bits are cleared."""
    head, _, tail = named(text, "net").partition("/")
    if "." in tail:
        mask = address_number(tail)
        length = mask.bit_count()
        if mask != prefix_mask(length):
            raise InputError(f"a mask must be ones and then zeros, got {tail!r}")
    else:
        length = number(tail) if tail else 32
        if not 0 <= length <= 32:
            raise InputError(f"prefix length must be 0 to 32, got {text!r}")
    is_short = head.count(".") < 3 and head.replace(".", "").isdigit()  # 10/8
    return address(head + ".0" * (3 - head.count(".")) if is_short else head) & prefix_mask(length), length


class DropBroadcasts(Element):
    """Drops packets received as link-layer broadcasts (RFC 1812 section 5.3.4)."""

    TIMED = "dropbroadcast"

    def take(self, pack: Pack, port: int) -> Out:
        """Return the packet, or drop it if it was a link-layer broadcast."""
        return [(-1, replace(pack, reason=Reason.LINK_BROADCAST)) if pack.link_broadcast else (0, pack)]


class DropBroadcast(DropBroadcasts):
    """An alias, as the SoCLIB paper names the element."""


class FixIPSrc(Element):
    """Sets the source of packets that the router generates to the port's address: `FixIPSrc(10.0.0.1)`."""

    ARGUMENTS, TIMED = (1, 1), "fixipsrc"

    POSITIONS: ClassVar[tuple[str, ...]] = ("IPADDR",)

    def configure(self, *arguments: str) -> None:
        """Read the address."""
        self.source = address(arguments[0]).to_bytes(4, "big")

    def take(self, pack: Pack, port: int) -> Out:
        """Return the packet, with its source set if its annotation asks for it."""
        if not pack.fix_source:
            return [(0, pack)]
        packet = pack.packet
        return [(0, pack.with_packet(with_checksum(packet[:12] + self.source + packet[16:]), fix_source=False))]


class DecIPTTL(Element):
    """Decrements the TTL; expired packets leave by output 1 (RFC 1812 section 5.3.1).

    ACTIVE false: changes no packet; MULTICAST false: changes no multicast packet.
    """

    OUTPUTS, PROCESSING, TIMED = (1, 2), "a/ah", "decipttl"

    def configure(self, *arguments: str) -> None:
        """Read the keywords ACTIVE and MULTICAST."""
        self.active = truth("ACTIVE", self.said.value("ACTIVE", "true"))
        self.groups = truth("MULTICAST", self.said.value("MULTICAST", "true"))

    def take(self, pack: Pack, port: int) -> Out:
        """Return the packet with TTL and checksum changed; expired packets leave by output 1."""
        packet = pack.packet
        if not self.active or (not self.groups and len(packet) >= 20 and packet[16] >> 4 == 14):
            return [(0, pack)]
        reason, changed = decrement_ttl(packet)
        return [(1, replace(pack, reason=reason))] if reason else [(0, pack.with_packet(changed))]


class IPFragmenter(Element):
    """Fragments packets to an MTU: `IPFragmenter(1500)`; too long ones with DF leave by output 1 (RFC 791 section 3.2).

    HONOR_DF false: packets with DF are fragmented too, and the fragments do not have the flag.
    """

    OUTPUTS, PROCESSING, ARGUMENTS, TIMED = (1, 2), "h/h", (0, 3), "ipfragmenter"
    IRRELEVANT: ClassVar[Mapping[str, str]] = {"VERBOSE": "what is printed", "HEADROOM": "room for headers in memory"}

    def configure(self, *arguments: str) -> None:
        """Read the MTU, HONOR_DF and VERBOSE, by position or by keyword."""
        self.mtu = number(self.said.value("MTU", arguments[0] if arguments else None))
        honor = self.said.value("HONOR_DF", arguments[1] if len(arguments) > 1 else "true")
        self.honors = truth("HONOR_DF", honor)
        if self.mtu < 28:
            raise InputError(f"an MTU must be at least 28 bytes, got {self.mtu}")

    def take(self, pack: Pack, port: int) -> Out:
        """Return the fragments in their order."""
        packet = pack.packet
        if len(packet) <= self.mtu:
            return [(0, pack)]
        if not self.honors and packet[6] >> 5 & DF:
            packet = with_checksum(packet[:6] + bytes([packet[6] & ~(DF << 5) & 255]) + packet[7:])
        fragments = fragment(packet, self.mtu, last_in_units=True)
        if fragments.reason:
            return [(1, replace(pack, reason=fragments.reason))]
        # as in Click, only the first fragment keeps the link header
        first, *later = fragments.packets
        return [(0, pack.with_packet(first)), *((0, replace(pack, data=piece, network=0)) for piece in later)]


class SetIPChecksum(Element):
    """Computes the header checksum anew (RFC 1071); drops packets without a complete header."""

    def take(self, pack: Pack, port: int) -> Out:
        """Return the packet with its new checksum."""
        packet = pack.packet
        size = 4 * (packet[0] & 15) if packet else 0
        if not 20 <= size <= len(packet):
            return [(-1, replace(pack, reason=Reason.TOO_SHORT))]
        zeroed = packet[:10] + b"\0\0" + packet[12:]
        return [(0, pack.with_packet(zeroed[:10] + internet_checksum(zeroed[:size]).to_bytes(2, "big") + zeroed[12:]))]
