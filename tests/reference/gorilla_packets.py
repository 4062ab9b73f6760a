"""Packets of IPv4, IPv6 and MPLS around the routes and labels of the mixed router, with their Ethernet types."""

from hypothesis import strategies as st

from npexplore.testing.strategies import ipv4_packets
from npexplore.testing.strategies6 import ipv6_packets, label_stacks

STACKS = label_stacks(
    label=st.one_of(st.sampled_from([100, 101, 102, 103, 110, 111, 120, 121, 0, 2]), st.integers(0, 130))
)
NEAR6 = st.builds(
    lambda net, host: (0x20010DB8 << 96) + (net << 80) + host, st.sampled_from([0, 1, 2, 10, 11, 12, 13, 14, 0x99]),
    st.integers(0, 12),
)  # fmt: skip
KINDS = st.one_of(
    st.tuples(ipv6_packets(source=NEAR6, destination=NEAR6), st.just(b"\x86\xdd")),
    st.tuples(STACKS, st.just(b"\x88\x47")),
    st.tuples(ipv4_packets(), st.just(b"\x08\x00")),
)  # fmt: skip
