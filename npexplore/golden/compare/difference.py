"""Finds the first difference of two routers' outputs: frame, field, both values, and the clause that decides.

Frames are compared by port and in order. Two fields may differ and are not compared: the identification of messages
that the router generates, and the time of day in timestamps. Checksums that cover these fields are compared only by
whether they are correct.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from npexplore.golden.checksum import internet_checksum
from npexplore.golden.compare.fields6 import CLAUSES6, fields6, summary6
from npexplore.golden.compare.masked import ipv4_at, without_time
from npexplore.golden.ethernet import ETHERNET
from npexplore.golden.ipv4.addresses import address_text
from npexplore.golden.ipv4.header import MF, SHORTEST, Header, read_header
from npexplore.golden.ipv4.icmp import ICMP
from npexplore.golden.reasons import Reason
from npexplore.golden.router.walk import Sent

ICMP_HEADER = 8
SHORTEST_FRAME = 60  # bytes on Ethernet without the check sequence (IEEE 802.3 clause 3.2.8)
AHEAD = 64  # frames that are searched for a missing or extra frame

# field -> deciding clause for a forwarded packet, and for a message that the router generates
CLAUSES = {
    "destination MAC": ("RFC 1812 section 5.2.4",) * 2,
    "source MAC": ("IEEE 802.3 clause 3.2.5",) * 2,
    "Ethernet type": ("RFC 894", "RFC 894"),
    "length": ("RFC 791 section 3.1",) * 2,
    "version": ("RFC 791 section 3.1",) * 2,
    "header length": ("RFC 1812 section 5.3.13", "RFC 1812 section 4.3.2.6"),
    "type of service": ("RFC 1812 section 5.3.2", "RFC 1812 section 4.3.2.5"),
    "total length": ("RFC 1812 section 4.2.2.7", "RFC 1812 section 4.3.2.3"),
    "identification": ("RFC 791 section 3.1",) * 2,
    "flags": ("RFC 1812 section 4.2.2.7",) * 2,
    "fragment offset": ("RFC 1812 section 4.2.2.7",) * 2,
    "time to live": ("RFC 1812 section 5.3.1", "RFC 1812 section 4.3.2.2"),
    "protocol": ("RFC 791 section 3.1", "RFC 792"),
    "source": ("RFC 791 section 3.1", "RFC 1812 section 4.3.2.4"),
    "destination": ("RFC 1812 section 5.3.13.4", "RFC 1812 section 4.3.2"),
    "options": ("RFC 1812 section 5.3.13", "RFC 1812 section 4.3.2.6"),
    "checksum": ("RFC 1812 section 4.2.2.5, RFC 1624 section 3",) * 2,
    "ICMP type": ("RFC 792", "RFC 1812 section 5.2.7"),
    "ICMP code": ("RFC 792", "RFC 1812 section 5.2.7"),
    "ICMP checksum": ("RFC 792", "RFC 792"),
    "ICMP value": ("RFC 792", "RFC 792, RFC 1191 section 4"),
    "quoted packet": ("RFC 792", "RFC 1812 section 4.3.2.3"),
    "payload": ("RFC 791 section 3.2",) * 2,
    "behind the packet": ("RFC 1812 section 5.2.2",) * 2,
    "bytes": ("RFC 791 section 3.1",) * 2,
    **CLAUSES6,
}
FRAME = "frame"
SAME_WAY = 2  # result of in_common: the destination is equal, too
FORWARDED = "RFC 1812 section 5.2.1"


class Difference(NamedTuple):
    """One difference: port, frame (from 0), field, expected value, the other router's value, deciding clause."""

    port: int
    frame: int
    field: str
    expected: str
    got: str
    clause: str

    def __str__(self) -> str:
        """Return the difference as a sentence."""
        place = f"port {self.port}, frame {self.frame}: {self.field}"
        return f"{place} must be {self.expected}, got {self.got} ({self.clause})"


def first_difference(
    expected: Sequence[Sent], got: Iterable[tuple[int, bytes]], dropped: Sequence[tuple[Reason, bytes]] = ()
) -> Difference | None:
    """Return the first difference by port and order, None if there is none.

    expected: the golden router's frames; got: the other router's, as (port, frame). dropped: input frames that are not
    forwarded, with the reasons; they explain unexpected frames. The arguments may be for one packet or a whole capture.
    """
    got = [(port, bytes(frame)) for port, frame, *_ in got]
    for port in sorted({sent.port for sent in expected} | {port for port, _ in got}):
        expected_on_port = [sent for sent in expected if sent.port == port]
        on_port = [frame for number, frame in got if number == port]
        difference = _on_a_port(port, expected_on_port, on_port, dropped)
        if difference is not None:
            return difference
    return None


def _on_a_port(
    port: int, wanted: Sequence[Sent], frames: Sequence[bytes], dropped: Sequence[tuple[Reason, bytes]]
) -> Difference | None:
    """Return the first difference of one port's frames, None if there is none."""
    for number in range(max(len(wanted), len(frames))):
        if number >= len(frames):
            return _missing(port, number, wanted[number], "none")
        if number >= len(wanted):
            return _extra(port, number, frames[number], dropped)
        field = _field(wanted[number], frames[number])
        if field is None:
            continue
        if any(_field(sent, frames[number]) is None for sent in wanted[number + 1 : number + AHEAD]):
            return _missing(port, number, wanted[number], f"the one after it, {summary(frames[number])}")
        if any(_field(wanted[number], frame) is None for frame in frames[number + 1 : number + AHEAD]):
            return _extra(port, number, frames[number], dropped)
        name, value, actual = field
        return Difference(port, number, name, value, actual, CLAUSES[name][wanted[number].icmp])
    return None


def _missing(port: int, number: int, sent: Sent, instead: str) -> Difference:
    """Return the difference of a missing frame."""
    clause = "RFC 1812 section 4.3.2" if sent.icmp else FORWARDED
    return Difference(port, number, FRAME, summary(sent.frame), instead, clause)


def _extra(port: int, number: int, frame: bytes, dropped: Sequence[tuple[Reason, bytes]]) -> Difference:
    """Return the difference of an unexpected frame, explained by the best matching dropped packet."""
    matches = [(in_common(frame, input_frame), -k) for k, (_, input_frame) in enumerate(dropped)]
    match, index = max(matches, default=(0, 0))
    if match == 0:
        return Difference(port, number, FRAME, "none", summary(frame), FORWARDED)
    reason = dropped[-index][0]
    return Difference(port, number, FRAME, f"none, for {reason.text}", summary(frame), reason.clause)


def in_common(frame: bytes, came: bytes) -> int:
    """Return how well a frame matches an input: 0 not, 1 by identification, 2 also destination, 3 also payload."""
    header, input_header = read_header(frame[ETHERNET:]), read_header(came[ETHERNET:])
    if (input_header.source, input_header.identification, input_header.protocol) != (
        header.source,
        header.identification,
        header.protocol,
    ):
        return 0
    if input_header.destination != header.destination:
        return 1  # a source route may change the destination
    input_payload = came[ETHERNET + input_header.header_length : ETHERNET + input_header.total_length]
    return 3 if frame[ETHERNET + header.header_length : ETHERNET + header.total_length] == input_payload else 2


def frame_difference(expected: Sent, got: bytes) -> Difference | None:
    """Return the first differing field of one frame, None if there is none; the result's `frame` is 0."""
    field = _field(expected, got)
    if field is None:
        return None
    name, value, actual = field
    return Difference(expected.port, 0, name, value, actual, CLAUSES[name][expected.icmp])


def _field(expected: Sent, got: bytes) -> tuple[str, str, str] | None:
    """Return (field, expected, got) of the first difference, None for equal frames."""
    if len(expected.frame) < len(got) <= SHORTEST_FRAME:
        got = got[: len(expected.frame)]  # Ethernet padding
    if expected.frame == got:
        return None
    expected_masked, actual_masked = without_time(expected.frame, expected.icmp), without_time(got, expected.icmp)
    if expected_masked == actual_masked:
        return _sums(_bare(expected.frame), _bare(got))
    expected_fields, actual_fields = fields(expected_masked), fields(actual_masked)
    for name, value in expected_fields.items():
        if name in actual_fields and actual_fields[name] != value:
            return name, value, actual_fields[name]
    if len(expected_masked) != len(actual_masked):
        return "length", f"{len(expected_masked)} bytes", f"{len(actual_masked)} bytes"
    at = next(at for at, pair in enumerate(zip(expected_masked, actual_masked, strict=True)) if pair[0] != pair[1])
    return "bytes", f"{expected_masked[at]:#04x} at {at}", f"{actual_masked[at]:#04x} at {at}"


def _bare(frame: bytes) -> bytes:
    """Return an IPv4 frame without its label stack."""
    at = ipv4_at(frame)
    return frame if at is None else frame[:ETHERNET] + frame[at:]


def _sums(expected: bytes, got: bytes) -> tuple[str, str, str] | None:
    """Compare whether the checksums are correct that cover fields which may differ."""
    for name, expected_sum, (at, end) in (
        ("checksum", _header_sum(expected), (ETHERNET + 10, ETHERNET + 12)),
        ("ICMP checksum", _icmp_sum(expected), _icmp_place(got)),
    ):
        actual_sum = _header_sum(got) if name == "checksum" else _icmp_sum(got)
        if expected_sum == 0 and actual_sum != 0:
            value = int.from_bytes(got[at:end], "big")
            others = (value ^ 0xFFFF).to_bytes(2, "big") + (actual_sum ^ 0xFFFF).to_bytes(2, "big")
            return name, f"{internet_checksum(others):#06x}, which fits what it covers", f"{value:#06x}"
    return None


def _header_sum(frame: bytes) -> int:
    return internet_checksum(frame[ETHERNET : ETHERNET + 4 * (frame[ETHERNET] & 15)])


def _icmp_place(frame: bytes) -> tuple[int, int]:
    at = ETHERNET + 4 * (frame[ETHERNET] & 15) + 2
    return at, at + 2


def _icmp_sum(frame: bytes) -> int:
    header = read_header(frame[ETHERNET:])
    if header.protocol != ICMP or header.fragment_offset or header.flags & MF:
        return 0xFFFF
    return internet_checksum(frame[ETHERNET + header.header_length : ETHERNET + header.total_length])


def fields(frame: bytes) -> dict[str, str]:
    """Return the fields of a frame as text, in the order in which they are compared."""
    values: dict[str, str] = {
        "destination MAC": frame[:6].hex(":"),
        "source MAC": frame[6:12].hex(":"),
        "Ethernet type": f"0x{frame[12:14].hex()}",
    }
    packet, values6 = frame[ETHERNET:], fields6(frame)
    if values6 is not None:
        return values | values6
    if len(packet) < SHORTEST:
        return values | {"bytes": packet.hex(" ") or "none"}
    header = read_header(packet)
    values |= _header_fields(header)
    length = min(max(header.header_length, SHORTEST), len(packet))
    total = min(max(header.total_length, length), len(packet))
    values["options"] = packet[SHORTEST:length].hex(" ") or "none"
    body = packet[length:total]
    if header.protocol == ICMP and not header.fragment_offset and len(body) >= ICMP_HEADER:
        values |= {
            "ICMP type": str(body[0]),
            "ICMP code": str(body[1]),
            "ICMP value": f"0x{body[4:8].hex()}",
            "quoted packet": _long(body[8:]),
            "ICMP checksum": f"0x{body[2:4].hex()}",
        }
    else:
        values["payload"] = _long(body)
    values["checksum"] = f"{header.checksum:#06x}"
    values["behind the packet"] = packet[total:].hex(" ") or "nothing"
    return values


def _header_fields(header: Header[int]) -> dict[str, str]:
    return {
        "version": str(header.version),
        "time to live": str(header.ttl),
        "header length": str(header.header_length),
        "type of service": f"{header.tos:#04x}",
        "total length": str(header.total_length),
        "identification": f"{header.identification:#06x}",
        "flags": f"{header.flags:03b}",
        "fragment offset": str(8 * header.fragment_offset),
        "protocol": str(header.protocol),
        "source": address_text(header.source),
        "destination": address_text(header.destination),
    }


def _long(data: bytes, most: int = 32) -> str:
    """Return bytes as text; more than `most` bytes as their beginning and a CRC-32 of all."""
    if len(data) <= most:
        return data.hex(" ") or "empty"
    return f"{data[:most].hex(' ')} ... ({len(data)} bytes, CRC-32 {zlib.crc32(data):08x})"


def summary(frame: bytes) -> str:
    """Return a short description of a frame."""
    packet, text6 = frame[ETHERNET:], summary6(frame)
    if text6 is not None:
        return text6
    if len(packet) < SHORTEST:
        return f"{len(frame)} bytes {frame.hex()}"
    header = read_header(packet)
    ends = f"{address_text(header.source)} to {address_text(header.destination)}"
    text = f"{len(packet)} bytes from {ends}, protocol {header.protocol}, time to live {header.ttl}"
    body = packet[header.header_length :]
    if header.protocol == ICMP and not header.fragment_offset and len(body) >= ICMP_HEADER:
        text += f", ICMP type {body[0]} code {body[1]}"
    if header.fragment_offset or header.flags & MF:
        text += f", fragment at {8 * header.fragment_offset}"
    return text
