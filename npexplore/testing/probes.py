"""Fixed frames that each try one rule of RFC 1812, 1191, 2644, 791 or 792, so that no rule is left to chance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from npexplore.golden.checksum import internet_checksum
from npexplore.golden.ethernet import ETHERNET, IPV4_TYPE
from npexplore.golden.ipv4.header import SHORTEST, with_checksum
from npexplore.golden.router.configuration import Router
from npexplore.testing.probes6 import label_probes, probes6
from npexplore.testing.routers import hosts_of, pattern, routed_of

UDP, ICMP = 17, 1
DF, MF = 0x4000, 0x2000
MOST_WAYS = 8  # routed addresses that all packets are sent to
MARTIANS = (0x00000001, 0x7F000001, 0xE0000001, 0xF0000001, 0xFFFFFFFF)
OPTIONS = (  # no-operation, record route with room and full, time stamps, router alert, security; bad pointer, length
    "01010100", "07070400 00000000", "07070800 00000000", "44080500 00000000", "44080501 00000000", "94040000",
    "820b0000 00000000 00000000", "07070300 00000000", "07020000", "07270400",
)  # fmt: skip


def packet(
    source: int, destination: int, payload: bytes = b"", *, ttl: int = 64, protocol: int = UDP, flags: int = 0,
    tos: int = 0, options: bytes = b"",
) -> bytes:  # fmt: skip
    """Return an IPv4 packet with a correct checksum."""
    length = 20 + len(options)
    words = (length + len(payload)).to_bytes(2, "big") + b"\x12\x34" + flags.to_bytes(2, "big")
    ends = source.to_bytes(4, "big") + destination.to_bytes(4, "big")
    head = bytes([0x40 | length // 4, tos]) + words + bytes([ttl, protocol, 0, 0]) + ends + options
    return with_checksum(head) + payload


def probes(router: Router) -> Iterator[tuple[int, bytes]]:
    """Yield (port, frame): for each port, frames for the rules of headers, addresses, options, sizes and replies."""
    hosts, routed = hosts_of(router), routed_of(router)[:MOST_WAYS]
    for port in router.ports:
        link = port.mac + port.peer_mac
        source = hosts[2 * port.number]
        for ip_packet in _packets(router, source, routed):
            yield port.number, link + b"\x08\x00" + ip_packet[: port.mtu]
        plain = packet(source, routed[0], b"12345678")
        yield port.number, link + b"\x08\x00" + plain + bytes(26 - 8)  # padding of Ethernet
        for kind in (b"\x08\x06", b"\x88\xb5"):
            yield port.number, link + kind + plain
        for station in (b"\xff" * 6, b"\x02\0\0\0\xaa\xaa"):
            yield port.number, station + port.peer_mac + b"\x08\x00" + plain
    yield from probes6(router)
    yield from label_probes(router, packet(hosts[0], routed[0], b"12345678"))


def numbered(frames: Iterable[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    """Return the frames with consecutive identifications, to recognise outputs; wrong checksums stay wrong."""
    numbered_frames = []
    for number, (port, frame) in enumerate(frames, start=1):
        head, packet = frame[:ETHERNET], frame[ETHERNET:]
        length = 4 * (packet[0] & 15) if packet else 0
        if head[12:] == IPV4_TYPE and SHORTEST <= length <= len(packet):
            tag = (number & 0xFFFF).to_bytes(2, "big")
            checksum_error = int.from_bytes(packet[10:12], "big") ^ int.from_bytes(
                with_checksum(packet[:length])[10:12], "big"
            )
            header = with_checksum(packet[:4] + tag + packet[6:length])
            checksum = int.from_bytes(header[10:12], "big") ^ checksum_error
            packet = header[:10] + checksum.to_bytes(2, "big") + header[12:] + packet[length:]
        numbered_frames.append((port, head + packet))
    return numbered_frames


def _packets(router: Router, source: int, ways: list[int]) -> Iterator[bytes]:
    for destination in ways:
        for ttl in (0, 1, 2, 255):
            yield packet(source, destination, b"twelve bytes", ttl=ttl)
        for tos in (0x01, 0x02, 0xB8, 0xE0):
            yield packet(source, destination, tos=tos)
        for mtu in sorted({port.mtu for port in router.ports}):
            for size in (mtu - 20, mtu - 19, 2 * mtu):
                for flags in (0, DF, MF):
                    yield packet(source, destination, pattern(size), flags=flags)
        for text in OPTIONS:
            yield packet(source, destination, b"12345678", options=bytes.fromhex(text.replace(" ", "")))
    valid = packet(source, ways[0], b"12345678")
    yield from (valid[:size] for size in (0, 1, 19, 20, 27))
    for at, value in ((0, 0x65), (0, 0x44), (0, 0x4F), (2, 0xFF), (3, 19), (10, valid[10] ^ 0x80)):
        invalid = valid[:at] + bytes([value]) + valid[at + 1 :]
        yield invalid if at == 10 else with_checksum(invalid[:20]) + invalid[20:]
    for strange in MARTIANS:
        yield packet(strange, ways[0])
        yield packet(source, strange)
    for port in router.ports:
        broadcast = port.network | (1 << 32 - port.length) - 1
        for host in (port.address, port.network, broadcast):
            yield packet(source, host, b"to a port")
            yield packet(host, ways[0], b"from a port")
        for kind in (0x83, 0x89):  # loose and strict source routes: to a routed address, and to a host of this link
            for hop in (ways[0], port.network + 2):
                route = bytes([kind, 7, 4]) + hop.to_bytes(4, "big") + b"\0"
                yield packet(source, port.address, b"12345678", options=route)
        for kind, body in ((8, b"echo"), (8, pattern(600)), (13, bytes(12)), (15, b""), (5, bytes(4) + valid)):
            yield packet(source, port.address, _message(kind, body), protocol=ICMP)
    for strange in (0xC6336401, 0x01010101, 0xDFFFFF01):  # often without a route
        yield packet(source, strange, b"12345678")


def _message(kind: int, body: bytes) -> bytes:
    bare = bytes([kind, 0, 0, 0]) + b"\x00\x07\x00\x01" + body
    return bare[:2] + internet_checksum(bare).to_bytes(2, "big") + bare[4:]
