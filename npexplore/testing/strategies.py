"""Hypothesis strategies for routers: prefixes, routing tables, updates, IPv4 packets valid and malformed.

Prefixes are drawn around few addresses, so that they nest, meet and repeat; addresses lie at the borders of prefixes.
Needs the extra `test` (hypothesis).
"""

from typing import Any

from hypothesis import strategies as st

from npexplore.golden.addresses import MAX_ADDRESS, mask_of, prefix_pair, prefix_text
from npexplore.golden.header import with_checksum, write_packet

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


def _listed(kind: int, extra: int, unit: int) -> st.SearchStrategy[bytes]:
    """Options with a pointer and slots of `unit` bytes behind `extra` bytes: type, length, pointer, extra, slots."""

    def build(slots: int, pointer: int, more: bytes, content: bytes) -> bytes:
        length = 3 + extra + unit * slots
        return bytes([kind, length, pointer]) + (more + content + bytes(40))[: length - 3]

    sensible = st.integers(0, 9).map(lambda slot: 4 + extra + unit * slot)
    return st.builds(
        build,
        st.integers(0, (37 - extra) // unit),
        st.one_of(sensible, sensible, st.integers(0, 255)),
        st.binary(min_size=extra, max_size=extra),
        st.binary(max_size=36),
    )


def ip_options() -> st.SearchStrategy[bytes]:
    """The options of a header, up to 40 bytes: the known ones, unknown ones, some with bad lengths and pointers."""
    unknown = st.builds(
        lambda kind, data: bytes([kind, 2 + len(data)]) + data,
        st.sampled_from((30, 130, 134, 136, 158)),
        st.binary(max_size=8),
    )
    one = st.one_of(
        st.just(b"\x01"),
        st.just(b"\x94\x04\x00\x00"),  # router alert
        _listed(7, 0, 4),  # record route
        st.one_of(_listed(68, 1, 4), _listed(68, 1, 8)),  # time stamp
        _listed(131, 0, 4),  # loose source route
        _listed(137, 0, 4),  # strict source route
        unknown,
        st.binary(min_size=1, max_size=6),
    )
    return st.lists(one, max_size=3).map(lambda parts: b"".join(parts)[:40])


@st.composite
def _well_formed(draw: Any, options: bool) -> bytes:
    fragment = draw(st.booleans())
    return write_packet(
        draw(addresses()),
        draw(addresses()),
        draw(st.binary(max_size=120)),
        options=draw(ip_options()) if options else b"",
        tos=draw(st.integers(0, 255)),
        identification=draw(st.integers(0, 0xFFFF)),
        flags=draw(st.integers(0, 3)) if fragment else 0,
        fragment_offset=draw(st.integers(0, 0x1FFF)) if fragment else 0,
        ttl=draw(st.one_of(st.integers(0, 3), st.integers(0, 255))),
        protocol=draw(st.sampled_from((1, 6, 17, 50))),
    )


def _flipped(packet: bytes, bit: int) -> bytes:
    at = bit // 8 % len(packet)
    return packet[:at] + bytes([packet[at] ^ 1 << bit % 8]) + packet[at + 1 :]


def _lying(packet: bytes, at: int, byte: int) -> bytes:
    """A byte of version, lengths or fragment fields is replaced; the checksum is right all the same if it can be."""
    changed = packet[:at] + bytes([byte]) + packet[at + 1 :]
    return with_checksum(changed) if 20 <= 4 * (changed[0] & 15) <= len(changed) else changed


def ipv4_packets(*, valid: bool | None = None, options: bool = True) -> st.SearchStrategy[bytes]:
    """IPv4 packets as bytes.

    valid: with right version, lengths and checksum (options and addresses may be wrong); False: truncated, padded,
    with flipped bits, lying lengths, or of random bytes, some of which stay valid; None: both. options: some have some.
    """
    good = _well_formed(options)
    if valid:
        return good
    bad = st.one_of(
        st.builds(lambda packet, keep: packet[: keep % (len(packet) + 1)], good, st.integers(0, 200)),
        st.builds(lambda packet, padding: packet + padding, good, st.binary(max_size=30)),
        st.builds(_flipped, good, st.integers(0, 60 * 8)),
        st.builds(_lying, good, st.sampled_from((0, 2, 3, 6, 7)), st.integers(0, 255)),
        st.binary(max_size=80),
    )
    return bad if valid is False else st.one_of(good, bad)
