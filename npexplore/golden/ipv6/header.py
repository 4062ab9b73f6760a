"""Reads and writes the IPv6 header (RFC 8200 section 3)."""

from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_ipv6 as kernels
from npexplore.errors import InputError
from npexplore.golden.columns import Packets

T = TypeVar("T", int, NDArray[Any])
SHORTEST = 40
SMALLEST_MTU = 1280  # RFC 8200 section 5
UDP, ICMP6 = 17, 58


class Header6(NamedTuple, Generic[T]):
    """Header fields as numbers, or as columns: int64, addresses uint64 of shape (n, 2)."""

    version: T
    traffic_class: T
    flow_label: T
    payload_length: T
    next_header: T
    hop_limit: T
    source: T
    destination: T


def read_header(packet: bytes) -> "Header6[int]":
    """Return the fields of a header without checking them; all 0 for a packet below 40 bytes."""
    if len(packet) < SHORTEST:
        return Header6(*[0] * 8)
    first_word = int.from_bytes(packet[:4], "big")
    return Header6(
        version=first_word >> 28,
        traffic_class=first_word >> 20 & 0xFF,
        flow_label=first_word & 0xFFFFF,
        payload_length=packet[4] << 8 | packet[5],
        next_header=packet[6],
        hop_limit=packet[7],
        source=int.from_bytes(packet[8:24], "big"),
        destination=int.from_bytes(packet[24:40], "big"),
    )


def read_headers(packets: Packets) -> "Header6[NDArray[Any]]":
    """Return the fields of many headers as columns."""
    numbers = np.zeros((6, len(packets)), np.int64)
    source, destination = (np.zeros((len(packets), 2), np.uint64) for _ in range(2))
    kernels.fields(packets.buffer, packets.offset, packets.length, numbers, source, destination)
    return Header6(numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], source, destination)


def write_packet(
    source: int,
    destination: int,
    payload: bytes = b"",
    *,
    next_header: int = UDP,
    hop_limit: int = 64,
    traffic_class: int = 0,
    flow_label: int = 0,
) -> bytes:
    """Return a packet with the correct payload length; the payload begins with extension headers, if any.

    Raises InputError for a payload beyond 65,535 bytes.
    """
    if len(payload) > 0xFFFF:
        raise InputError(f"an IPv6 packet has up to 65535 bytes behind its header, got {len(payload)}")
    first_word = (6 << 28 | traffic_class << 20 | flow_label).to_bytes(4, "big")
    head = first_word + len(payload).to_bytes(2, "big") + bytes([next_header, hop_limit])
    return head + source.to_bytes(16, "big") + destination.to_bytes(16, "big") + payload
