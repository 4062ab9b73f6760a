"""Martian addresses (RFC 1812 section 5.3.7): invalid as source, or not to be forwarded to as destination.

The list is in data/martians.toml, each prefix with its clause; the longest prefix that contains an address decides.
"""

import tomllib
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_headers as kernels
from npexplore.errors import one_of
from npexplore.golden.ipv4.addresses import address_column, prefix_mask, prefix_pair
from npexplore.golden.reasons import Reason
from npexplore.paths import share


@dataclass(frozen=True)
class MartianPrefix:
    """One row of the list: whether its addresses are invalid as source and as destination, and the clause."""

    value: int
    length: int
    source: bool
    destination: bool
    clause: str


@dataclass(frozen=True)
class Martians:
    """The list of one profile, longest prefixes first."""

    prefixes: tuple[MartianPrefix, ...]

    def row(self, address: int) -> MartianPrefix | None:
        """Return the longest prefix of the list that contains an address, None if none does."""
        for prefix in self.prefixes:
            if address & prefix_mask(prefix.length) == prefix.value:
                return prefix
        return None


@cache
def martian_list(profile: str = "rfc1812") -> Martians:
    """Return the martian list of a profile; raises UnknownNameError."""
    rows = tomllib.loads(share("data", "martians.toml").read_text(encoding="utf-8"))["prefix"]
    one_of("profile", profile, {name for row in rows for name in row["profiles"]})
    prefixes = [
        MartianPrefix(*prefix_pair(row["prefix"]), row["source"], row["destination"], row["clause"])
        for row in rows
        if profile in row["profiles"]
    ]
    return Martians(tuple(sorted(prefixes, key=lambda row: -row.length)))


def martian(source: int, destination: int, martians: Martians) -> Reason:
    """Return MARTIAN_SOURCE, else MARTIAN_DESTINATION, else NONE."""
    row = martians.row(source)
    if row is not None and row.source:
        return Reason.MARTIAN_SOURCE
    row = martians.row(destination)
    if row is not None and row.destination:
        return Reason.MARTIAN_DESTINATION
    return Reason.NONE


def martian_many(
    source: NDArray[np.integer], destination: NDArray[np.integer], martians: Martians
) -> NDArray[np.uint8]:
    """Return the reason code of each pair of addresses."""
    rows = martians.prefixes
    value = np.array([row.value for row in rows], np.uint32)
    mask = np.array([prefix_mask(row.length) for row in rows], np.uint32)
    bad_source = np.array([row.source for row in rows], np.bool_)
    bad_destination = np.array([row.destination for row in rows], np.bool_)
    out = np.empty(len(source), np.uint8)
    addresses = address_column(source), address_column(destination)
    kernels.martians(*addresses, value, mask, bad_source, bad_destination, out)
    return out
