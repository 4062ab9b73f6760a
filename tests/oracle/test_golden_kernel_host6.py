"""The router as an IPv6 host behind extension headers against the Linux kernel, octet for octet."""

from ipaddress import ip_address
from random import Random

from reference.host6_packets import host6_packet
from reference.kernel_hunt import differs
from reference.repeated import in_some_run

from npexplore.golden import load_router
from npexplore.golden.router.forward import Forwarder
from npexplore.testing.linux_kernel import LinuxKernel

PACKETS = 600
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
