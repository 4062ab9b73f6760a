"""The router as an IPv6 host behind extension headers against the Linux kernel, octet for octet."""

from collections import Counter
from ipaddress import ip_address
from random import Random

from reference.host6_packets import host6_packet, pieces
from reference.kernel_hunt import differs
from reference.repeated import in_some_run

from npexplore.golden import load_router
from npexplore.golden.router.forward import Forwarder
from npexplore.testing.linux_kernel import LinuxKernel

PACKETS, DATAGRAMS = 600, 250
ROUTER = """
profile = "linux"
[[port]]
name = "a"
address6 = "2001:db8:a::1/64"
address = "10.0.0.1/24"
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


def fragments(number):
    """Return the frames of a datagram for the router in fragments, behind no headers or some."""
    rnd = Random(f"fragments {number}")
    source, target = (ip_address(f"2001:db8:a::{k:x}").packed for k in (number + 4096, 1))
    packet = host6_packet(rnd, source, target)
    at, named = 40, 6
    if packet[6] in (0, 60, 43) and rnd.random() < 0.3 and 48 + 8 * packet[41] < len(packet):
        at, named = 48 + 8 * packet[41], 40
    return [HEAD + piece for piece in pieces(rnd, packet, at, named)]


def test_fragments_are_put_together_as_by_the_kernel(tmp_path):
    (tmp_path / "router.toml").write_text(ROUTER)
    router = load_router(tmp_path / "router.toml")
    rows = [fragments(number) for number in range(DATAGRAMS)]
    kinds = Counter()

    def compare():
        golden = Forwarder(router, lookup="binary_trie")
        with LinuxKernel(router, clock=False) as kernel:
            kernel.introduce([(0, row[0]) for row in rows if row])
            for number, row in enumerate(rows):
                told = set()
                for frame in row:
                    outcome, got = golden.forward(0, frame), kernel.forward(0, frame)
                    errors = {sent.frame[54] for sent in outcome.sent if sent.frame[54] < 128}
                    if told and errors:
                        break  # one source is told of one error a second
                    told |= errors
                    kinds.update(sent.frame[54:56].hex() for sent in outcome.sent)
                    assert differs(outcome, frame, got) is None, (number, [one.hex() for one in row], frame.hex())

    in_some_run(compare)
    assert {"8100", "0104", "0400", "0401", "0403"} <= set(kinds)
