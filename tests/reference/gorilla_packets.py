"""Packets of IPv4, IPv6 and MPLS around the routes and labels of the mixed router, with their Ethernet types."""

from hypothesis import strategies as st

from npexplore.testing.strategies import ipv4_packets
from npexplore.testing.strategies6 import ipv6_packets, label_stacks

STACKS = label_stacks(
    label=st.one_of(st.sampled_from([100, 101, 102, 103, 110, 111, 120, 121, 0, 2, 7]), st.integers(0, 130))
)
NEAR6 = st.builds(
    lambda net, host: (0x20010DB8 << 96) + (net << 80) + host,
    st.sampled_from([0, 1, 2, 10, 11, 12, 13, 14, 16, 17, 18, 0x99]),
    st.integers(0, 12),
)  # fmt: skip
NEAR4 = st.builds(lambda net, host: net << 24 | host, st.sampled_from([20, 21, 22]), st.integers(1, 9))
KINDS = st.one_of(
    st.tuples(ipv6_packets(source=NEAR6, destination=NEAR6), st.just(b"\x86\xdd")),
    st.tuples(STACKS, st.sampled_from((*[b"\x88\x47"] * 8, b"\x88\x48"))),
    st.tuples(ipv4_packets(), st.just(b"\x08\x00")),
    st.tuples(ipv4_packets(destination=NEAR4, options=False), st.just(b"\x08\x00")),
)  # fmt: skip
