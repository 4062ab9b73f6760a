"""Fields of IPv6 packets and label stacks as text, in the order of comparison, and the deciding clause of each."""

from __future__ import annotations

from npexplore.golden.ethernet import IPV6_TYPE, MPLS_TYPE
from npexplore.golden.ipv6.addresses import address_text
from npexplore.golden.ipv6.header import SHORTEST, read_header
from npexplore.golden.mpls.stack import ENTRY, label_at, read_stack

# field -> deciding clause for a forwarded packet, and for a message that the router generates
CLAUSES6 = {
    "IPv6 version": ("RFC 8200 section 3",) * 2,
    "hop limit": ("RFC 8200 section 3", "RFC 4443 section 2.1"),
    "traffic class": ("RFC 8200 section 7",) * 2,
    "flow label": ("RFC 8200 section 6",) * 2,
    "payload length": ("RFC 8200 section 3", "RFC 4443 section 2.4 (c)"),
    "next header": ("RFC 8200 section 4", "RFC 4443 section 2.1"),
    "IPv6 source": ("RFC 8200 section 3", "RFC 4443 section 2.2"),
    "IPv6 destination": ("RFC 8200 section 3", "RFC 4443 section 2.2"),
    "IPv6 payload": ("RFC 8200 section 4", "RFC 4443 section 2.1"),
    "label stack": ("RFC 3032 section 2.1, RFC 3443 section 3",) * 2,
    "below the labels": ("RFC 3032 section 2.4, RFC 3443 section 3",) * 2,
}


def fields6(frame: bytes) -> dict[str, str] | None:
    """Return the fields of an IPv6 or labelled frame behind its Ethernet header, None for other and cut frames."""
    kind, packet = frame[12:14], frame[14:]
    if kind == MPLS_TYPE and not (shape := read_stack(packet)).reason:
        rows = [label_at(packet, number) for number in range(shape.depth)]
        stack = " ".join(f"{row.label}/{row.traffic_class}/{row.ttl}" for row in rows)
        return {"label stack": stack, "below the labels": packet[ENTRY * shape.depth :].hex(" ") or "empty"}
    if kind != IPV6_TYPE or len(packet) < SHORTEST:
        return None
    header = read_header(packet)
    return {
        "IPv6 version": str(header.version),
        "hop limit": str(header.hop_limit),
        "traffic class": f"{header.traffic_class:#04x}",
        "flow label": f"{header.flow_label:#07x}",
        "payload length": str(header.payload_length),
        "next header": str(header.next_header),
        "IPv6 source": address_text(header.source),
        "IPv6 destination": address_text(header.destination),
        "IPv6 payload": packet[SHORTEST:].hex(" ") or "empty",
    }


def summary6(frame: bytes) -> str | None:
    """Return a short description of an IPv6 or labelled frame, None for other frames."""
    values = fields6(frame)
    if values is None:
        return None
    if "label stack" in values:
        return f"{len(frame) - 14} bytes, labels {values['label stack']}"
    ends = f"{values['IPv6 source']} to {values['IPv6 destination']}"
    return f"{len(frame) - 14} bytes from {ends}, next header {values['next header']}, hop limit {values['hop limit']}"
