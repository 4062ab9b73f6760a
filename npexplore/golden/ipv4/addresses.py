"""IPv4 addresses and prefixes in the three forms users have: text, `ipaddress` objects, numbers; inside, numbers only.

A prefix is a pair (value, length): its first address and its number of leading bits; the other bits of value are 0.
"""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import InputError
from npexplore.golden.prefixes import pair_of

Address = str | int | IPv4Address
Prefix = str | IPv4Network

MAX_ADDRESS = 0xFFFFFFFF


def prefix_mask(length: int) -> int:
    """Return the number whose first `length` of 32 bits are set."""
    return MAX_ADDRESS << (32 - length) & MAX_ADDRESS


def address_number(address: Address) -> int:
    """Return an address as a number; raises InputError for anything but an IPv4 address."""
    if isinstance(address, IPv4Address):
        return int(address)
    if isinstance(address, str):
        parts = address.split(".")
        if len(parts) == 4 and all(p.isascii() and p.isdigit() and len(p) <= 3 and int(p) < 256 for p in parts):
            if any(len(part) > 1 and part[0] == "0" for part in parts):
                raise InputError(f"address {address!r} has a leading zero: some read such a number as octal")
            return int(parts[0]) << 24 | int(parts[1]) << 16 | int(parts[2]) << 8 | int(parts[3])
    elif not isinstance(address, bool) and isinstance(address, int | np.integer) and 0 <= address <= MAX_ADDRESS:
        return int(address)
    raise InputError(f"address must be IPv4 (text, ipaddress object or 0 to 2^32 - 1), got {address!r}")


def address_text(number: int) -> str:
    """Return dotted quads."""
    return f"{number >> 24}.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def prefix_pair(prefix: Prefix) -> tuple[int, int]:
    """Return (value, length); text without a length is one address. Raises InputError."""
    return pair_of(prefix, 32, IPv4Network, address_number, address_text)


def prefix_text(value: int, length: int) -> str:
    """Return a prefix as text."""
    return f"{address_text(value)}/{length}"


def prefix_columns(prefixes: Iterable[Prefix]) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Return many prefixes as columns (value, length); raises InputError for the first that is wrong."""
    pairs = [prefix_pair(prefix) for prefix in prefixes]
    value = np.fromiter((pair[0] for pair in pairs), np.uint32, len(pairs))
    return value, np.fromiter((pair[1] for pair in pairs), np.uint8, len(pairs))


def address_column(addresses: "NDArray[np.integer] | Iterable[int]") -> NDArray[np.uint32]:
    """Return a column of addresses as uint32, no copy if it is; raises InputError for other numbers."""
    column = np.asarray(addresses if isinstance(addresses, np.ndarray) else list(addresses))
    if column.dtype == np.uint32:
        return np.ascontiguousarray(column)
    if column.ndim != 1 or (column.size and column.dtype.kind not in "iu"):
        raise InputError(f"addresses must be one column of integers, got {column.dtype} of shape {column.shape}")
    if column.size and (int(column.min()) < 0 or int(column.max()) > MAX_ADDRESS):
        raise InputError(f"addresses must be 0 to 2^32 - 1, got {int(column.min())} to {int(column.max())}")
    return column.astype(np.uint32)
