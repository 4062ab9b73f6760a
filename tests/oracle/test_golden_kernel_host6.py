"""The router as a host, behind extension headers and in fragments, against the Linux kernel, octet for octet."""

import struct
from collections import Counter
from ipaddress import ip_address
from random import Random

from reference.host6_packets import host4_pieces, host6_packet, pieces
from reference.kernel_hunt import differs
from reference.repeated import in_some_run

from npexplore.golden import load_router
from npexplore.golden.ipv4.header import with_checksum
from npexplore.golden.router.forward import Forwarder
from npexplore.testing.linux_kernel import LinuxKernel

PACKETS, DATAGRAMS = 600, 250
ROUTER = """
profile = "linux"
[[port]]
name = "a"
address6 = "2001:db8:a::1/64"
address = "10.0.0.1/16"
mac = "02:00:00:00:00:01"
peer_mac = "02:00:00:00:01:01"
[policy]
answers = true
"""
HEAD = bytes.fromhex("020000000001 020000000101 86dd")


def test_packets_for_the_router_are_answered_as_by_the_kernel(tmp_path):
    (tmp_path / "router.toml").write_text(ROUTER)
    router, target = load_router(tmp_path / "router.toml"), ip_address("2001:db8:a::1").packed
    golden, frames = Forwarder(router, lookup="binary_trie"), []
    for k in range(PACKETS):
        source = ip_address(f"2001:db8:a::{k + 256:x}").packed  # each may be told once a second
        frames.append(HEAD + host6_packet(Random(f"host6 {k}"), source, target))

    def compare():
        with LinuxKernel(router, clock=False) as kernel:
            kernel.introduce([(0, frame) for frame in frames])
            for frame in frames:
                assert differs(golden.forward(0, frame), frame, kernel.forward(0, frame)) is None, frame.hex()

    in_some_run(compare)
    kinds = {sent.frame[54:56].hex() for frame in frames for sent in golden.forward(0, frame).sent}
    assert {"8100", "0104", "0400", "0401", "0402"} <= kinds


def message(frame):
    """Return family, type and code of an ICMP message."""
    at = 54 if frame[12] == 0x86 else 14 + 4 * (frame[14] & 15)
    return ("6" if frame[12] == 0x86 else "4") + f"{frame[at]:x}.{frame[at + 1]:x}"


HEAD4 = HEAD[:12] + b"\x08\0"


def fragments(number):
    """Return the frames of a datagram for the router in fragments; IPv6 behind no headers or some."""
    rnd = Random(f"fragments {number}")
    if number % 2:
        source, target = (ip_address(f"10.0.{k >> 8}.{k & 255}").packed for k in (number + 512, 1))
        return [HEAD4 + piece for piece in host4_pieces(rnd, source, target)]
    source, target = (ip_address(f"2001:db8:a::{k:x}").packed for k in (number + 4096, 1))
    packet = host6_packet(rnd, source, target)
    at, named = 40, 6
    if packet[6] in (0, 60, 43) and rnd.random() < 0.3 and 48 + 8 * packet[41] < len(packet):
        at, named = 48 + 8 * packet[41], 40
    return [HEAD + piece for piece in pieces(rnd, packet, at, named)]


def far_apart(distance):
    """Return two pieces of a datagram, so many pieces of others from one source between them."""
    source, target = ip_address(f"10.0.0.{distance}").packed, ip_address("10.0.0.1").packed
    numbers = [(7, 0x2000), *((100 + k, 0x2000) for k in range(distance)), (7, 1)]
    heads = [
        struct.pack(">BBHHHBBH", 0x45, 0, 28, ident, place, 64, 99, 0) + source + target for ident, place in numbers
    ]
    return [HEAD4 + with_checksum(head + bytes(8)) for head in heads]


def test_fragments_are_put_together_as_by_the_kernel(tmp_path):
    (tmp_path / "router.toml").write_text(ROUTER)
    router = load_router(tmp_path / "router.toml")
    rows = [fragments(number) for number in range(DATAGRAMS)] + [far_apart(distance) for distance in (63, 64, 65)]
    kinds = Counter()

    def compare():
        golden = Forwarder(router, lookup="binary_trie")
        with LinuxKernel(router, clock=False) as kernel:
            kernel.introduce([(0, row[0]) for row in rows if row])
            for number, row in enumerate(rows):
                told = set()
                for frame in row:
                    outcome, got = golden.forward(0, frame), kernel.forward(0, frame)
                    sent = [message(one.frame) for one in outcome.sent]
                    errors = {one for one in sent if one[:2] in ("43", "61", "64")}
                    if told and errors:
                        break  # one source is told of one error a second
                    told |= errors
                    kinds.update(sent)
                    assert differs(outcome, frame, got) is None, (number, [one.hex() for one in row], frame.hex())

    in_some_run(compare)
    assert {"681.0", "61.4", "64.0", "64.1", "64.3", "40.0", "4e.0", "43.3", "43.2"} <= set(kinds), kinds
