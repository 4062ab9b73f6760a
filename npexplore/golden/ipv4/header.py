"""Reads the IPv4 header (RFC 791 section 3.1), and writes it with its checksum."""

from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_headers as kernels
from npexplore.errors import InputError
from npexplore.golden.checksum import internet_checksum
from npexplore.golden.columns import Packets

T = TypeVar("T", int, NDArray[np.int64])
DF, MF = 2, 1  # bits of `flags`
SHORTEST = 20


class Header(NamedTuple, Generic[T]):
    """Header fields as numbers, or as columns; header_length in bytes, fragment_offset in units of 8 bytes.

    Example:
        >>> from npexplore.golden import read_header, write_packet
        >>> read_header(write_packet(0x0A000001, 0x0B000001)).ttl
        64
    """

    version: T
    header_length: T
    tos: T
    total_length: T
    identification: T
    flags: T
    fragment_offset: T
    ttl: T
    protocol: T
    checksum: T
    source: T
    destination: T


def read_header(packet: bytes) -> "Header[int]":
    """Return the fields of a header without checking them; all 0 for a packet below 20 bytes."""
    if len(packet) < SHORTEST:
        return Header(*[0] * 12)
    return Header(
        version=packet[0] >> 4,
        header_length=4 * (packet[0] & 15),
        tos=packet[1],
        total_length=packet[2] << 8 | packet[3],
        identification=packet[4] << 8 | packet[5],
        flags=packet[6] >> 5,
        fragment_offset=(packet[6] & 31) << 8 | packet[7],
        ttl=packet[8],
        protocol=packet[9],
        checksum=packet[10] << 8 | packet[11],
        source=int.from_bytes(packet[12:16], "big"),
        destination=int.from_bytes(packet[16:20], "big"),
    )


def read_headers(packets: Packets) -> "Header[NDArray[np.int64]]":
    """Return the fields of many headers as columns."""
    columns = [np.zeros(len(packets), np.int64) for _ in Header._fields]
    kernels.fields(packets.buffer, packets.offset, packets.length, *columns)
    return Header(*columns)


def write_packet(
    source: int,
    destination: int,
    payload: bytes = b"",
    *,
    options: bytes = b"",
    tos: int = 0,
    identification: int = 0,
    flags: int = 0,
    fragment_offset: int = 0,
    ttl: int = 64,
    protocol: int = 17,
) -> bytes:
    """Return a packet with correct lengths and checksum; End of Option List pads options to whole words.

    source, destination: addresses as integers. payload: bytes behind the header. options: bytes of options. tos:
    DSCP and ECN. identification, flags, fragment_offset: fields of fragments, the offset in units of 8 bytes. ttl,
    protocol: header fields.
    Raises InputError for options beyond 40 bytes or a packet beyond 65,535.
    """
    options += bytes(-len(options) % 4)
    total = SHORTEST + len(options) + len(payload)
    if len(options) > 40 or total > 0xFFFF:
        raise InputError(f"a packet has up to 40 bytes of options and 65535 in all, got {len(options)} and {total}")
    head = bytes([0x40 | 5 + len(options) // 4, tos]) + total.to_bytes(2, "big") + identification.to_bytes(2, "big")
    head += (flags << 13 | fragment_offset).to_bytes(2, "big") + bytes([ttl, protocol, 0, 0])
    return with_checksum(head + source.to_bytes(4, "big") + destination.to_bytes(4, "big") + options + payload)


def with_checksum(packet: bytes) -> bytes:
    """Return a packet with its header checksum computed anew; the header must be complete."""
    length = 4 * (packet[0] & 15)
    checksum = internet_checksum(packet[:10] + b"\0\0" + packet[12:length])
    return packet[:10] + checksum.to_bytes(2, "big") + packet[12:]
