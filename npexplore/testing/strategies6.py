"""Hypothesis strategies for IPv6 and MPLS: prefixes, routing tables, updates, packets with extension headers, stacks.

As those for IPv4: prefixes nest, meet and repeat; addresses lie at the borders of prefixes; packets are valid or
malformed.
"""

from hypothesis import strategies as st

from npexplore.golden.ipv6.addresses import BITS, MAX_ADDRESS, mask_of, prefix_pair, prefix_text
from npexplore.testing.strategies import Route, Update, in_sequence

_HOT = (
    0, 1, 0x2001_0DB8 << 96, (0x2001_0DB8 << 96) + (1 << 64), 0x2001_0DB8_0001 << 80, 0xFE80 << 112, 0xFF02 << 112,
    1 << 127, MAX_ADDRESS,
)  # fmt: skip
_BORDERS = (0, 1, 16, 19, 20, 31, 32, 33, 38, 44, 48, 50, 63, 64, 65, 71, 72, 73, 127, 128)


def addresses6() -> st.SearchStrategy[int]:
    """Addresses as numbers: any, and many near each other."""
    bit = st.integers(0, BITS - 1).map(lambda place: 1 << place)
    near = st.builds(lambda base, flip, one: base ^ flip ^ one, st.sampled_from(_HOT), st.integers(0, 0x1FF), bit)
    return st.one_of(st.sampled_from(_HOT), near, near, st.integers(0, MAX_ADDRESS))


def prefixes6(min_length: int = 0, max_length: int = BITS) -> st.SearchStrategy[str]:
    """Prefixes as text, of so many bits, none set below the length; often at the borders of a trie's levels."""
    border = st.sampled_from([length for length in _BORDERS if min_length <= length <= max_length] or [max_length])
    return st.builds(
        lambda address, length: prefix_text(address & mask_of(length), length),
        addresses6(),
        st.one_of(border, st.integers(min_length, max_length)),
    )


def routing_tables6(*, max_size: int = 30, next_hops: int = 8) -> st.SearchStrategy[list[Route]]:
    """Lists of routes (prefix, next hop), no prefix twice; next hops from 0 to below `next_hops`."""
    route = st.tuples(prefixes6(), st.integers(0, next_hops - 1))
    return st.lists(route, max_size=max_size, unique_by=lambda pair: pair[0])


def updates6(*, max_size: int = 30, next_hops: int = 8) -> st.SearchStrategy[list[Update]]:
    """Sequences of updates (prefix, next hop), or (prefix, None) to take away a route that is there at that time."""
    insertion = st.tuples(prefixes6(), st.integers(0, next_hops - 1))
    return st.lists(st.one_of(insertion, st.integers(0, max(max_size - 1, 0))), max_size=max_size).map(in_sequence)


def addresses_near6(routes: "list[Route] | list[Update]") -> list[int]:
    """Return the addresses at which an answer of these routes can change: first, last, and just outside of each."""
    found = {0, MAX_ADDRESS}
    for prefix, _ in routes:
        value, length = prefix_pair(prefix)
        last = value | ~mask_of(length) & MAX_ADDRESS
        found |= {value, last, (value - 1) & MAX_ADDRESS, (last + 1) & MAX_ADDRESS}
    return sorted(found)
