"""IPv6 of the profile `linux` against the Linux kernel, octet for octet: as recorded, and live where that can be.

Left out is what the kernel decides as a host (its own addresses), what stays on a link, options of its own (0xc2 jumbo
payload, 0x07, 0x31; padding that is not zero or longer than 7), and addresses with an IPv4 address inside.
"""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference import kernel_recording as recording
from reference.repeated import in_some_run
from reference.router_cases6 import SOURCE, UDP_HEAD, framed, kernel_cases6

from npexplore.golden.ipv6.header import write_packet
from npexplore.golden.router.forward import Forwarder
from npexplore.testing.linux_kernel import LinuxKernel, why_not
from npexplore.testing.strategies6 import ipv6_packets, with_headers

ROUTER, CASES = kernel_cases6()
GOLDEN = Forwarder(ROUTER, lookup="binary_trie")


@pytest.fixture(scope="session")
def kernel():
    """Make kernel routers; without the right to, a test is skipped (in CI it fails)."""
    reason = why_not()
    if reason is not None:
        pytest.skip(f"the Linux kernel cannot be asked: {reason}")
    return LinuxKernel


def golden(port, frame):
    return [(sent.port, sent.frame) for sent in GOLDEN.forward(port, frame).sent]


def test_recorded_cases_are_those_of_today():
    assert [row[:3] for row in recording.read("ipv6")] == CASES
    assert recording.lines_of("ipv6")[0]["cases"] == len(CASES) >= 45


@pytest.mark.parametrize(
    ("port", "frame", "out"), [pytest.param(*row[1:], id=row[0].replace(" ", "-")) for row in recording.read("ipv6")]
)
def test_golden_does_what_was_recorded(port, frame, out):
    assert golden(port, frame) == out


def test_the_kernel_does_the_same_with_named_cases(kernel):
    in_some_run(lambda: compared(kernel, [(port, frame) for _, port, frame in CASES]))


def compared(kernel, sent):
    """Send frames through a new kernel and assert that it does as the golden router."""
    with kernel(ROUTER) as asked:
        for port, frame in sent:
            assert golden(port, frame) == asked.forward(port, frame)


def option_packet(to, content):
    """Return a packet with hop-by-hop options, padded with one PadN or Pad1."""
    missing = -(len(content) + 2) % 8
    content += b"\0" if missing == 1 else b"\1" + bytes([missing - 2]) + bytes(missing - 2) if missing else b""
    next_header, data = with_headers(((0, bytes([len(content) // 8]) + content),), 17, UDP_HEAD)
    return write_packet(SOURCE, to, data, next_header=next_header)


_NETS = st.sampled_from([1, 2, 3, 0xA, 0xB, 0xC, 0xD, 0xE, 0xF, 0x77])
_THERE = st.builds(lambda net, host: (0x20010DB8 << 96) + (net << 80) + host, _NETS, st.integers(2, 12))
_SIZES = st.sampled_from((0, 9, 1232, 1233, 1452, 1453, 3000))
_PADDING = st.sampled_from((b"", b"\0", b"\1\1\0"))
_OPTION = st.sampled_from((b"\5\2\0\0", b"\x1e\1\0", b"\x1e\0", b"\x5e\0", b"\x9e\2\7\7", b"\xde\0", b"\x1e\x7f"))
_OPTIONS = st.builds(lambda first, rest: first + b"".join(rest) + b"\x1e\0", _PADDING, st.lists(_OPTION, max_size=3))
_PACKETS = st.one_of(
    ipv6_packets(source=st.just(SOURCE), destination=_THERE, headers=st.just(())),
    st.builds(lambda to, size, hops: write_packet(SOURCE, to, UDP_HEAD + bytes(size), hop_limit=hops),
              _THERE, _SIZES, st.sampled_from((0, 1, 2, 64))),
    st.builds(option_packet, _THERE, _OPTIONS),
)  # fmt: skip


def comparable(packet):
    """Say whether a packet is not of the kinds that the comparison leaves out."""
    if len(packet) < 40:
        return True
    source, destination = packet[8:24], packet[24:40]
    special = any(one[:10] == bytes(10) or one[0] in (0xFE, 0xFF) for one in (source, destination))
    nearby = packet[24:30] in (b"\x20\x01\x0d\xb8\0\0", b"\x20\x01\x0d\xb8\0\x99")
    return (not special and not nearby and packet[6] != 0) or (packet[30:38] == bytes(8) and packet[6] == 0)


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(packets=st.lists(_PACKETS, min_size=1, max_size=20))
def test_the_kernel_does_the_same_with_random_packets(kernel, packets):
    in_some_run(lambda: compared(kernel, [(0, framed(packet)) for packet in filter(comparable, packets)]))
