"""Converts IPv6 addresses and prefixes (RFC 4291) from text, `ipaddress` objects and numbers.

The package uses numbers only; a column of addresses has two 64-bit words per row, the upper one first. A prefix is a
pair (value, length) as in IPv4.
"""

import socket
from collections.abc import Iterable, Sequence
from ipaddress import IPv6Address, IPv6Network

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import InputError
from npexplore.golden.prefixes import pair_of

Address = str | int | IPv6Address
Prefix = str | IPv6Network

BITS = 128
MAX_ADDRESS = (1 << BITS) - 1
_LOW = (1 << 64) - 1
_LENGTHS = {"": BITS, **{f"/{length}": length for length in range(BITS + 1)}}


def mask_of(length: int) -> int:
    """Return the number whose first `length` of 128 bits are set."""
    return MAX_ADDRESS << (BITS - length) & MAX_ADDRESS


def address_number(address: Address) -> int:
    """Return an address as a number; raises InputError for anything but an IPv6 address."""
    if isinstance(address, IPv6Address):
        return int(address)
    if isinstance(address, str):
        try:
            return int.from_bytes(socket.inet_pton(socket.AF_INET6, address), "big")
        except (OSError, ValueError):  # ValueError: a null character in the text
            pass
    elif not isinstance(address, bool) and isinstance(address, int | np.integer) and 0 <= address <= MAX_ADDRESS:
        return int(address)
    raise InputError(f"address must be IPv6 (text, ipaddress object or 0 to 2^128 - 1), got {address!r}")


def address_text(number: int) -> str:
    """Return an address in the text form of RFC 5952."""
    return str(IPv6Address(number))


def prefix_pair(prefix: Prefix) -> tuple[int, int]:
    """Return (value, length); text without a length is a single address. Raises InputError."""
    return pair_of(prefix, BITS, IPv6Network, address_number, address_text)


def prefix_text(value: int, length: int) -> str:
    """Return a prefix as text."""
    return f"{address_text(value)}/{length}"


def column_of(numbers: Iterable[int]) -> NDArray[np.uint64]:
    """Return addresses as a column: uint64 of shape (n, 2)."""
    words = [word for number in numbers for word in (number >> 64, number & _LOW)]
    return np.array(words, np.uint64).reshape(-1, 2)


def numbers_of(column: NDArray[np.uint64]) -> list[int]:
    """Return the addresses of a column as Python integers."""
    return [high << 64 | low for high, low in column.tolist()]


def prefix_columns(prefixes: Iterable[Prefix]) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    """Return many prefixes as columns (value, length); raises InputError for the first invalid one."""
    prefix_list = list(prefixes)
    value, length, is_plain = plain_prefixes([prefix if isinstance(prefix, str) else "" for prefix in prefix_list])
    for row in np.flatnonzero(~is_plain).tolist():
        number, length[row] = prefix_pair(prefix_list[row])
        value[row] = number >> 64, number & _LOW
    return value, length


def plain_prefixes(texts: Sequence[str]) -> tuple[NDArray[np.uint64], NDArray[np.uint8], NDArray[np.bool_]]:
    """Return texts as columns (value, length), and which texts are prefixes; the rows of others are undefined."""
    octets, lengths, zero_address = [], [], bytes(BITS // 8)
    for text in texts:
        head, slash, tail = text.partition("/")
        lengths.append(_LENGTHS.get(slash + tail, -1))
        try:
            octets.append(socket.inet_pton(socket.AF_INET6, head))
        except (OSError, ValueError):  # ValueError: a null character in the text
            octets.append(zero_address)
            lengths[-1] = -1
    value = np.frombuffer(b"".join(octets), ">u8").astype(np.uint64).reshape(-1, 2)
    length = np.array(lengths, np.int64)
    host_bits = value & ~column_of([mask_of(bits) for bits in range(BITS + 1)])[length]
    return value, length.astype(np.uint8), (length >= 0) & ~host_bits.any(axis=1)


def address_column(addresses: "NDArray[np.uint64] | Iterable[int]") -> NDArray[np.uint64]:
    """Return addresses as uint64 of shape (n, 2), without a copy if they are; raises InputError for other values."""
    if isinstance(addresses, np.ndarray) and addresses.ndim == 2:
        if addresses.dtype != np.uint64 or addresses.shape[1] != 2:
            got = f"{addresses.dtype} of shape {addresses.shape}"
            raise InputError(f"a column of IPv6 addresses must be uint64 of shape (n, 2), got {got}")
        return np.ascontiguousarray(addresses)
    return column_of([address_number(address) for address in addresses])
