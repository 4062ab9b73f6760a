"""Hypothesis strategies for IPv6 and MPLS: prefixes, routing tables, updates, packets with extension headers, stacks.

As for IPv4, many prefixes are nested, adjacent or equal, addresses are at the borders of prefixes, and packets are
valid or malformed.
"""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from npexplore.golden.ipv6.addresses import BITS, MAX_ADDRESS, mask_of, prefix_text
from npexplore.golden.ipv6.header import write_packet
from npexplore.golden.lookup.family import IPV6
from npexplore.golden.mpls.stack import LABELS, Label, entry_bytes, write_stack
from npexplore.testing.strategies import Route, Update, addresses_near, in_sequence, ipv4_packets

_HOT = (
    0, 1, 0x2001_0DB8 << 96, (0x2001_0DB8 << 96) + (1 << 64), 0x2001_0DB8_0001 << 80, 0xFE80 << 112, 0xFF02 << 112,
    1 << 127, MAX_ADDRESS,
)  # fmt: skip
_BORDERS = (0, 1, 16, 19, 20, 21, 31, 32, 33, 40, 41, 48, 49, 56, 63, 64, 65, 71, 72, 73, 127, 128)


def addresses6() -> st.SearchStrategy[int]:
    """Draw IPv6 addresses as numbers: arbitrary ones, and many near each other."""
    bit = st.integers(0, BITS - 1).map(lambda place: 1 << place)
    near_others = st.builds(
        lambda base, flip, bit_flip: base ^ flip ^ bit_flip, st.sampled_from(_HOT), st.integers(0, 0x1FF), bit
    )
    return st.one_of(st.sampled_from(_HOT), near_others, near_others, st.integers(0, MAX_ADDRESS))


def prefixes6(min_length: int = 0, max_length: int = BITS) -> st.SearchStrategy[str]:
    """Draw prefixes as text, with no bits set beyond the length; many lengths are at the borders of a trie's levels."""
    border = st.sampled_from([length for length in _BORDERS if min_length <= length <= max_length] or [max_length])
    return st.builds(
        lambda address, length: prefix_text(address & mask_of(length), length),
        addresses6(),
        st.one_of(border, st.integers(min_length, max_length)),
    )


def routing_tables6(*, max_size: int = 30, next_hops: int = 8) -> st.SearchStrategy[list[Route]]:
    """Draw lists of routes (prefix, next hop), in which no prefix appears twice; next hops are 0 to next_hops - 1."""
    route = st.tuples(prefixes6(), st.integers(0, next_hops - 1))
    return st.lists(route, max_size=max_size, unique_by=lambda pair: pair[0])


def updates6(*, max_size: int = 30, next_hops: int = 8) -> st.SearchStrategy[list[Update]]:
    """Draw sequences of updates: (prefix, next hop), or (prefix, None) to withdraw a route that exists by then."""
    insertion = st.tuples(prefixes6(), st.integers(0, next_hops - 1))
    return st.lists(st.one_of(insertion, st.integers(0, max(max_size - 1, 0))), max_size=max_size).map(in_sequence)


def addresses_near6(routes: "Sequence[tuple[Any, Any]]") -> list[int]:
    """Return `addresses_near` of IPv6 routes."""
    return addresses_near(routes, IPV6)


_OCTET, _ANY_PROTOCOL = st.integers(0, 255), st.sampled_from((6, 17, 58, 59, 50, 253))
_UNKNOWN = st.builds(
    lambda kind, data: bytes([kind, len(data)]) + data,
    st.sampled_from((0x1E, 0x3E, 0x5E, 0x9E, 0xDE)),
    st.binary(max_size=6),
)


def hop_options() -> st.SearchStrategy[bytes]:
    """Draw the options of a hop-by-hop header: padding, router alert, unknown options, some cut."""
    option = st.one_of(
        st.just(b"\0"), st.just(b"\1\0"), st.just(b"\1\2\0\0"), st.just(b"\5\2\0\0"), _UNKNOWN,
        st.binary(min_size=1, max_size=4),
    )  # fmt: skip
    return st.lists(option, max_size=4).map(b"".join)


def _padded(content: bytes) -> bytes:
    """Return options padded so that with the two bytes of the header they fill whole words of 8 bytes."""
    missing = -(len(content) + 2) % 8
    return content + (b"\0" if missing == 1 else b"\1" + bytes([missing - 2]) + bytes(missing - 2) if missing else b"")


def extension_headers(max_headers: int = 3) -> st.SearchStrategy[tuple[tuple[int, bytes], ...]]:
    """Draw chains of headers as (type, bytes after the next header field); hop-by-hop options mostly come first."""

    def filled(count: int, data: bytes) -> bytes:
        return bytes([count]) + (data + bytes(8 * count + 6))[: 8 * count + 6]

    words = st.builds(filled, st.integers(0, 2), st.binary(max_size=22))
    place = st.sampled_from((b"\0\0\0", b"\0\0\1", b"\0\0\7", b"\0\1\0"))
    fragment = st.builds(lambda place_field, data: place_field + data, place, st.binary(min_size=4, max_size=4))
    authentic = st.integers(1, 4).map(lambda count: bytes([count]) + bytes(4 * count + 6))
    options = hop_options().map(_padded).map(lambda data: bytes([len(data) // 8]) + data)
    later = st.one_of(
        st.tuples(st.sampled_from((43, 60, 135, 139, 140)), words),
        st.tuples(st.just(44), fragment),
        st.tuples(st.just(51), authentic),
        st.tuples(st.sampled_from((0, 60, 60)), options),
    )
    first = st.one_of(st.none(), st.none(), st.tuples(st.just(0), options))
    later_headers = st.one_of(st.just([]), st.lists(later, max_size=max_headers))
    return st.tuples(first, later_headers).map(lambda pair: tuple(header for header in (pair[0], *pair[1]) if header))


def with_headers(headers: tuple[tuple[int, bytes], ...], protocol: int, payload: bytes) -> tuple[int, bytes]:
    """Return (next header of the IPv6 header, bytes after the IPv6 header) for a chain before a payload."""
    types = [kind for kind, _ in headers] + [protocol]
    return types[0], b"".join(
        bytes([next_type]) + data for next_type, (_, data) in zip(types[1:], headers, strict=True)
    ) + payload


@st.composite
def _well_formed(draw: Any, source: Any, destination: Any, payload: Any, headers: Any) -> bytes:
    next_header, data = with_headers(draw(headers), draw(_ANY_PROTOCOL), draw(payload))
    return write_packet(
        draw(source),
        draw(destination),
        data,
        next_header=next_header,
        hop_limit=draw(st.one_of(st.just(64), st.integers(0, 3), _OCTET)),
        traffic_class=draw(_OCTET),
        flow_label=draw(st.one_of(st.just(0), st.integers(0, 0xFFFFF))),
    )


def ipv6_packets(
    *,
    valid: bool | None = None,
    headers: st.SearchStrategy[tuple[tuple[int, bytes], ...]] | None = None,
    source: st.SearchStrategy[int] | None = None,
    destination: st.SearchStrategy[int] | None = None,
    payload: st.SearchStrategy[bytes] | None = None,
) -> st.SearchStrategy[bytes]:
    """Draw IPv6 packets as bytes.

    Args:
        valid: True: version and length are right (extension headers and addresses may be wrong); False: truncated,
            padded, with flipped bits, with wrong lengths, or random bytes, some valid by chance; None: both.
        headers: a strategy for chains of extension headers.
        source: a strategy for source addresses.
        destination: a strategy for destination addresses.
        payload: a strategy for the bytes after the headers.
    """
    good = _well_formed(
        addresses6() if source is None else source,
        addresses6() if destination is None else destination,
        st.binary(max_size=60) if payload is None else payload,
        extension_headers() if headers is None else headers,
    )
    if valid:
        return good
    bad = good.flatmap(_malformed)
    return bad if valid is False else st.one_of(good, bad)


def _malformed(packet: bytes) -> st.SearchStrategy[bytes]:
    def changed(at: int, byte: int) -> bytes:
        return packet[: at % len(packet)] + bytes([byte]) + packet[at % len(packet) + 1 :]

    return st.one_of(
        st.integers(0, len(packet)).map(lambda keep: packet[:keep]),
        st.integers(0, len(packet)).map(lambda keep: shortened(packet, keep)),
        st.binary(max_size=30).map(lambda padding: packet + padding),
        st.builds(changed, st.sampled_from((0, 4, 5, 6, 7, 40, 41, 42, 43, 48, 49)), _OCTET),
        st.binary(max_size=80),
    )


def shortened(packet: bytes, keep: int) -> bytes:
    """Return the first `keep` bytes of a packet (at least the header), with a matching payload length."""
    keep = max(keep, min(40, len(packet)))
    return packet[:4] + max(keep - 40, 0).to_bytes(2, "big") + packet[6:keep]


_LABEL = st.one_of(
    st.sampled_from((0, 0, 2, 1, 3, 15)), st.integers(16, 24), st.integers(16, 24), st.integers(0, LABELS - 1)
)
_TTL = st.one_of(st.just(64), st.integers(0, 3), _OCTET)


def label_stacks(
    *, label: st.SearchStrategy[int] | None = None, payload: st.SearchStrategy[bytes] | None = None, depth: int = 6
) -> st.SearchStrategy[bytes]:
    """Draw packets that begin with a stack of 1 to `depth` MPLS labels; some are cut short, some have no bottom.

    Args:
        label: a strategy for labels (None: all values, the reserved ones more often).
        payload: a strategy for the bytes after the stack (None: IPv4, IPv6 and other octets).
        depth: the largest number of labels.
    """
    payloads = st.one_of(ipv4_packets(), ipv6_packets(), st.binary(max_size=12)) if payload is None else payload
    entry = st.builds(Label, _LABEL if label is None else label, st.integers(0, 7), st.just(0), _TTL)
    complete = st.builds(
        lambda rows, data: write_stack(rows) + data, st.lists(entry, min_size=1, max_size=depth), payloads
    )
    cut = st.builds(lambda packet, keep: packet[:keep], complete, st.integers(0, 4 * depth))
    bottomless = st.lists(entry, max_size=depth).map(lambda rows: b"".join(map(entry_bytes, rows)))
    return st.one_of(complete, complete, complete, cut, bottomless)
