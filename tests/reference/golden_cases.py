"""Strategies for the arguments of golden functions that have a batch form (law/test_law_golden_pairs.py)."""

from ipaddress import IPv6Address

from hypothesis import strategies as st

from npexplore.golden.ipv4.delivery import Destination, Links
from npexplore.golden.ipv4.martians import Martians, martian_list
from npexplore.golden.mpls.switch import HERE, LabelEntry, LabelMap
from npexplore.golden.router.profiles import PROFILES
from npexplore.testing.strategies import addresses, ipv4_packets
from npexplore.testing.strategies6 import addresses6 as numbers6
from npexplore.testing.strategies6 import ipv6_packets
from npexplore.testing.strategies6 import label_stacks as stacks_of

__all__ = ["addresses", "ipv4_packets", "ipv6_packets"]

PORTS = 3


def any_bytes() -> st.SearchStrategy[bytes]:
    """Bytes, often of few kinds, so that sums come out all ones."""
    return st.one_of(st.binary(max_size=70), st.lists(st.sampled_from((0, 1, 0xFE, 0xFF)), max_size=70).map(bytes))


def word_changes() -> st.SearchStrategy[tuple[int, int, int]]:
    """A checksum, a word's old value and its new one."""
    word = st.one_of(st.sampled_from((0, 1, 0xFFFE, 0xFFFF)), st.integers(0, 0xFFFF))
    return st.tuples(word, word, word)


def markings() -> st.SearchStrategy[tuple[bytes, int]]:
    """A packet, often malformed, and a code point of the DS field (-1: none)."""
    return st.tuples(ipv4_packets(), st.integers(-1, 63))


def address_pairs() -> st.SearchStrategy[tuple[int, int]]:
    """Source and destination."""
    special = st.sampled_from((0, 0x7F000001, 0xE0000001, 0xF0000000, 0xFFFFFFFE, 0xFFFFFFFF))
    one = st.one_of(special, addresses())
    return st.tuples(one, one)


def martian_lists() -> st.SearchStrategy[tuple[Martians]]:
    """The list of a profile."""
    return st.sampled_from([profile.ipv4.martians for profile in PROFILES.values()]).map(
        lambda name: (martian_list(name),)
    )


def link_tables() -> st.SearchStrategy[tuple[Links]]:
    """Links of three ports, some of which hold each other's networks."""
    address = st.lists(addresses(), min_size=PORTS, max_size=PORTS, unique=True).map(tuple)
    length = st.lists(st.one_of(st.integers(20, 32), st.integers(0, 32)), min_size=PORTS, max_size=PORTS).map(tuple)
    return st.builds(Links, address, length).map(lambda links: (links,))


def destination_kinds() -> st.SearchStrategy[tuple[Destination, bool]]:
    """A kind of destination, and whether the link layer broadcast it."""
    return st.tuples(st.sampled_from(Destination), st.booleans())


def switches() -> st.SearchStrategy[tuple[bool]]:
    """A switch of the router's, on or off."""
    return st.tuples(st.booleans())


def forwardings() -> st.SearchStrategy[tuple[int, int, int, int, bool]]:
    """Port in, port out, source, next hop, and whether there is a source route."""
    port = st.integers(0, PORTS - 1)
    return st.tuples(port, port, addresses(), addresses(), st.booleans())


def addresses6() -> st.SearchStrategy[IPv6Address]:
    """An IPv6 address; as an object, so that its column has two words a row."""
    return numbers6().map(IPv6Address)


def address_pairs6() -> st.SearchStrategy[tuple[IPv6Address, IPv6Address]]:
    """Source and destination."""
    return st.tuples(addresses6(), addresses6())


def label_stacks() -> st.SearchStrategy[bytes]:
    """Packets with stacks: mostly labels that `label_maps` may know, over packets of IP."""
    known = st.one_of(st.integers(16, 19), st.integers(16, 19), st.integers(0, 30))
    below = st.one_of(ipv4_packets(valid=True, options=False), ipv6_packets(valid=True))
    return st.one_of(stacks_of(), stacks_of(label=known, payload=below, depth=4))


def label_maps() -> st.SearchStrategy[tuple[LabelMap]]:
    """Incoming label maps of labels 16 to 19: swap, push, pop to a port, pop and look again, both TTL models."""
    labels = st.lists(st.sampled_from((0, 2)) | st.integers(16, 1000), max_size=4).map(tuple)
    entry = st.builds(
        lambda labels, port, uniform: LabelEntry(labels, max(port, 0) if labels else port, uniform=uniform),
        labels,
        st.integers(HERE, PORTS - 1),
        st.booleans(),
    )
    return st.dictionaries(st.integers(16, 19), entry, max_size=4).map(lambda entries: (LabelMap.of(entries),))
