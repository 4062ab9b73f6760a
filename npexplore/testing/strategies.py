"""Hypothesis strategies for IPv4: prefixes, routing tables, updates, valid and malformed packets.

Prefixes are drawn around few addresses, so that many are nested, adjacent or equal; addresses are at their borders.
Needs the extra `test` (hypothesis).
"""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from npexplore.golden.ipv4.addresses import MAX_ADDRESS, prefix_mask, prefix_text
from npexplore.golden.ipv4.header import with_checksum, write_packet
from npexplore.golden.lookup.family import IPV4, Family

Route = tuple[str, int]
Update = tuple[str, int | None]  # (prefix, next hop); None removes the route

_HOT = (0x00000000, 0x0A000000, 0x0A0000FF, 0x0A010203, 0x7FFFFFFF, 0x80000000, 0xC0A80001, 0xFFFFFFFF)


def addresses() -> st.SearchStrategy[int]:
    """Draw IPv4 addresses as numbers: arbitrary ones, and many near each other."""
    near_others = st.builds(lambda base, flip: base ^ flip, st.sampled_from(_HOT), st.integers(0, 0x1FF))
    return st.one_of(near_others, st.integers(0, MAX_ADDRESS))


def prefixes(min_length: int = 0, max_length: int = 32) -> st.SearchStrategy[str]:
    """Draw prefixes as text, without bits beyond the length; few are below 12 bits, if longer ones are allowed."""
    usual = st.integers(max(min_length, min(12, max_length)), max_length)
    return st.builds(
        lambda address, length: prefix_text(address & prefix_mask(length), length),
        addresses(),
        st.one_of(usual, usual, usual, st.integers(min_length, max_length)),
    )


def routing_tables(
    *, min_size: int = 0, max_size: int = 40, next_hops: int = 8, min_length: int = 0, max_length: int = 32
) -> st.SearchStrategy[list[Route]]:
    """Draw lists of routes (prefix, next hop) in which no prefix appears twice.

    Args:
        min_size: the smallest number of routes.
        max_size: the largest number of routes.
        next_hops: next hops are 0 to next_hops - 1.
        min_length: the shortest prefix, bits.
        max_length: the longest prefix, bits.
    """
    route = st.tuples(prefixes(min_length, max_length), st.integers(0, next_hops - 1))
    return st.lists(route, min_size=min_size, max_size=max_size, unique_by=lambda pair: pair[0])


def updates(*, max_size: int = 40, next_hops: int = 8, max_length: int = 32) -> st.SearchStrategy[list[Update]]:
    """Draw sequences of updates: (prefix, next hop), or (prefix, None) to withdraw a route that exists at that time.

    Args:
        max_size: the largest number of updates.
        next_hops: next hops are 0 to next_hops - 1.
        max_length: the longest prefix, bits.
    """
    insertion = st.tuples(prefixes(0, max_length), st.integers(0, next_hops - 1))
    return st.lists(st.one_of(insertion, st.integers(0, max(max_size - 1, 0))), max_size=max_size).map(in_sequence)


def in_sequence(steps: "list[Route | int]") -> list[Update]:
    """Return updates: a route is inserted; a number removes an existing route (0: the latest), if there is any."""
    existing: list[str] = []
    sequence: list[Update] = []
    for step in steps:
        if isinstance(step, tuple):
            sequence.append(step)
            if step[0] not in existing:
                existing.append(step[0])
        elif existing:
            sequence.append((existing.pop(-1 - step % len(existing)), None))
    return sequence


def addresses_near(routes: "Sequence[tuple[Any, Any]]", family: Family = IPV4) -> list[int]:
    """Return the addresses at which a lookup in these routes can change: first, last, and just outside each prefix."""
    highest = (1 << family.bits) - 1
    edges = {0, highest}
    for prefix, _ in routes:
        value, length = family.prefix_pair(prefix)
        last = value | ~family.mask(length) & highest
        edges |= {value, last, (value - 1) & highest, (last + 1) & highest}
    return sorted(edges)


def _listed(kind: int, extra: int, unit: int, slots: st.SearchStrategy[int] | None) -> st.SearchStrategy[bytes]:
    """Draw options with a pointer and slots: type, length, pointer, `extra` bytes, slots of `unit` bytes."""
    content: st.SearchStrategy[bytes] = st.binary(max_size=36)
    if slots is not None:
        chosen_addresses = st.lists(slots, max_size=4).map(
            lambda chosen: b"".join(address.to_bytes(4, "big") for address in chosen)
        )
        content = st.one_of(chosen_addresses, chosen_addresses, content)

    def build(slots: int, pointer: int, more: bytes, content: bytes) -> bytes:
        length = 3 + extra + unit * slots
        return bytes([kind, length, pointer]) + (more + content + bytes(40))[: length - 3]

    sensible = st.integers(0, 9).map(lambda slot: 4 + extra + unit * slot)
    return st.builds(
        build,
        st.integers(0, (37 - extra) // unit),
        st.one_of(sensible, sensible, st.integers(0, 255)),
        st.one_of(st.sampled_from((b"\0", b"\1", b"\3")), st.binary(min_size=1, max_size=1)) if extra else st.just(b""),
        content,
    )


def ip_options(slots: st.SearchStrategy[int] | None = None) -> st.SearchStrategy[bytes]:
    """Draw options of an IPv4 header, up to 40 bytes: known and unknown options, some with bad lengths and pointers.

    slots: addresses for routes and time stamps, in addition to random bytes.
    """
    unknown = st.builds(
        lambda kind, data: bytes([kind, 2 + len(data)]) + data,
        st.sampled_from((30, 130, 134, 136, 158)),
        st.binary(max_size=8),
    )
    option = st.one_of(
        st.just(b"\x01"),
        st.just(b"\x94\x04\x00\x00"),  # router alert
        _listed(7, 0, 4, slots),  # record route
        st.one_of(_listed(68, 1, 4, slots), _listed(68, 1, 8, slots)),  # time stamp
        _listed(131, 0, 4, slots),  # loose source route
        _listed(137, 0, 4, slots),  # strict source route
        unknown,
        st.binary(min_size=1, max_size=6),
    )
    return st.lists(option, max_size=3).map(lambda parts: b"".join(parts)[:40])


_OCTET, _WORD, _FLAGS, _PLACE = st.integers(0, 255), st.integers(0, 0xFFFF), st.integers(0, 3), st.integers(0, 0x1FFF)
_TTL = st.one_of(st.just(64), st.integers(0, 3), st.integers(0, 255))
_PROTOCOL = st.sampled_from((17, 6, 1, 50))
# checksums for which an incremental update without care for one's complement zeros is wrong (RFC 1624 section 3)
_WANTED_SUM = st.sampled_from((*[None] * 12, 0xFEFF, 0xFEFF, 0x0000, 0xFF00, 0xFFFE, 0x00FF))
_ONE_IN_FOUR = st.integers(0, 3).map(lambda number: number == 3)


@st.composite
def _well_formed(draw: Any, options: Any, source: Any, destination: Any, payload: Any) -> bytes:
    fragment = draw(_ONE_IN_FOUR)
    wanted_sum = draw(_WANTED_SUM)
    packet = write_packet(
        draw(source),
        draw(destination),
        draw(payload),
        options=draw(options),
        tos=draw(_OCTET),
        identification=draw(_WORD),
        flags=draw(_FLAGS) if fragment else 0,
        fragment_offset=draw(_PLACE) if fragment else 0,
        ttl=draw(_TTL),
        protocol=draw(_PROTOCOL),
    )
    return packet if wanted_sum is None else with_header_sum(packet, wanted_sum)


def with_header_sum(packet: bytes, wanted: int) -> bytes:
    """Return a packet with an identification that gives the wanted header checksum, but never 0xffff."""
    zeroed = with_checksum(packet[:4] + b"\0\0" + packet[6:])
    identification = ((wanted ^ 0xFFFF) - (int.from_bytes(zeroed[10:12], "big") ^ 0xFFFF)) % 0xFFFF
    return with_checksum(packet[:4] + identification.to_bytes(2, "big") + packet[6:])


def _flipped(packet: bytes, bit: int) -> bytes:
    at = bit // 8 % len(packet)
    return packet[:at] + bytes([packet[at] ^ 1 << bit % 8]) + packet[at + 1 :]


def _lying(packet: bytes, at: int, byte: int) -> bytes:
    """Return a packet with a replaced byte of version, lengths or fragment fields, and if possible a right checksum."""
    changed = packet[:at] + bytes([byte]) + packet[at + 1 :]
    return with_checksum(changed) if 20 <= 4 * (changed[0] & 15) <= len(changed) else changed


def malformed(packet: bytes) -> st.SearchStrategy[bytes]:
    """Draw a packet truncated, padded, with a flipped bit or a wrong length, or random bytes; some stay valid."""
    if not packet:
        return st.binary(max_size=80)
    return st.one_of(
        st.integers(0, len(packet)).map(lambda keep: packet[:keep]),
        st.binary(max_size=30).map(lambda padding: packet + padding),
        st.integers(0, 60 * 8).map(lambda bit: _flipped(packet, bit)),
        st.builds(_lying, st.just(packet), st.sampled_from((0, 2, 3, 6, 7)), st.integers(0, 255)),
        st.binary(max_size=80),
    )


def ipv4_packets(
    *,
    valid: bool | None = None,
    options: "bool | st.SearchStrategy[bytes]" = True,
    source: st.SearchStrategy[int] | None = None,
    destination: st.SearchStrategy[int] | None = None,
    payload: st.SearchStrategy[bytes] | None = None,
) -> st.SearchStrategy[bytes]:
    """Draw IPv4 packets as bytes.

    Args:
        valid: True: version, lengths and checksum are right (options and addresses may be wrong); False: truncated,
            padded, with flipped bits, with wrong lengths, or random bytes, some valid by chance; None: both.
        options: let some packets have options, or a strategy for the options' bytes.
        source: a strategy for source addresses.
        destination: a strategy for destination addresses.
        payload: a strategy for the bytes after the header.
    """
    if isinstance(options, bool):
        options = ip_options() if options else st.just(b"")
    good = _well_formed(
        options,
        addresses() if source is None else source,
        addresses() if destination is None else destination,
        st.binary(max_size=120) if payload is None else payload,
    )
    if valid:
        return good
    bad = good.flatmap(malformed)
    return bad if valid is False else st.one_of(good, bad)
