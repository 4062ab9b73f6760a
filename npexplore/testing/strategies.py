"""Hypothesis strategies for routers: prefixes, routing tables, updates.

Prefixes are drawn around few addresses, so that they nest, meet and repeat; addresses lie at the borders of prefixes.
Needs the extra `test` (hypothesis).
"""

from typing import Any

from hypothesis import strategies as st

from npexplore.golden.addresses import MAX_ADDRESS, mask_of, prefix_pair, prefix_text

Route = tuple[str, int]
Update = tuple[str, int | None]  # a prefix and its next hop; None takes the route away

_HOT = (0x00000000, 0x0A000000, 0x0A0000FF, 0x0A010203, 0x7FFFFFFF, 0x80000000, 0xC0A80001, 0xFFFFFFFF)


def addresses() -> st.SearchStrategy[int]:
    """Addresses as numbers: any, and many near each other."""
    near = st.builds(lambda base, flip: base ^ flip, st.sampled_from(_HOT), st.integers(0, 0x1FF))
    return st.one_of(near, st.integers(0, MAX_ADDRESS))


def prefixes(min_length: int = 0, max_length: int = 32) -> st.SearchStrategy[str]:
    """Prefixes as text, of so many bits, none set below the length; few shorter than 12 bits, where that leaves any."""
    usual = st.integers(max(min_length, min(12, max_length)), max_length)
    return st.builds(
        lambda address, length: prefix_text(address & mask_of(length), length),
        addresses(),
        st.one_of(usual, usual, usual, st.integers(min_length, max_length)),
    )


def routing_tables(
    *, min_size: int = 0, max_size: int = 40, next_hops: int = 8, min_length: int = 0, max_length: int = 32
) -> st.SearchStrategy[list[Route]]:
    """Lists of routes (prefix, next hop), no prefix twice; next hops from 0 to below `next_hops`."""
    route = st.tuples(prefixes(min_length, max_length), st.integers(0, next_hops - 1))
    return st.lists(route, min_size=min_size, max_size=max_size, unique_by=lambda pair: pair[0])


@st.composite
def updates(draw: Any, *, max_size: int = 40, next_hops: int = 8, max_length: int = 32) -> list[Update]:
    """Sequences of updates (prefix, next hop), or (prefix, None) to take away a route that is there at that time."""
    there: list[str] = []
    sequence: list[Update] = []
    for _ in range(draw(st.integers(0, max_size))):
        if there and draw(st.booleans()):
            prefix = draw(st.sampled_from(there))
            there.remove(prefix)
            sequence.append((prefix, None))
        else:
            prefix = draw(prefixes(0, max_length))
            if prefix not in there:
                there.append(prefix)
            sequence.append((prefix, draw(st.integers(0, next_hops - 1))))
    return sequence


def addresses_near(routes: "list[Route] | list[Update]") -> list[int]:
    """Return the addresses at which an answer of these routes can change: first, last, and just outside of each."""
    found = {0, MAX_ADDRESS}
    for prefix, _ in routes:
        value, length = prefix_pair(prefix)
        last = value | ~mask_of(length) & MAX_ADDRESS
        found |= {value, last, (value - 1) & MAX_ADDRESS, (last + 1) & MAX_ADDRESS}
    return sorted(found)
