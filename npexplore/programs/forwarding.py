"""The tables that `fib_lookup` reads: routes and neighbours of both IP versions, in the layout of our kernel.

A route whose next hop has no neighbour entry uses the MAC address at the other end of its link, if there is one.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from npexplore._kernels import ebpf as k
from npexplore.errors import InputError
from npexplore.programs.records import MapDefinition, Program

Contents = Mapping[bytes, bytes]
HASH, LPM_TRIE, MAC_BYTES, FIB_LOOKUP = 1, 11, 6, 69
NOT_FORWARDED = k.NOT_FORWARDED


@dataclass(frozen=True)
class ForwardingTables:
    """Tables of a router with interfaces 1 to `ports`; `npexplore.testing.forwarding_tables` builds them.

    routes4, routes6: length (4 bytes, little-endian) and prefix -> `route`. neighbours4, neighbours6: interface (4
    bytes, little-endian) and address -> MAC address.

    Example:
        >>> from npexplore.programs import ForwardingTables
        >>> ForwardingTables(ports=3).routes4
        {}
    """

    ports: int
    routes4: Contents = field(default_factory=dict, repr=False)
    neighbours4: Contents = field(default_factory=dict, repr=False)
    routes6: Contents = field(default_factory=dict, repr=False)
    neighbours6: Contents = field(default_factory=dict, repr=False)

    def contents(self) -> tuple[Contents, ...]:
        """Return the tables in the order of `definitions`."""
        return self.routes4, self.neighbours4, self.routes6, self.neighbours6

    def definitions(self) -> list[MapDefinition]:
        """Return definitions of maps that hold the tables."""
        shapes = (
            (LPM_TRIE, 8, k.ROUTE_BYTES),
            (HASH, 8, MAC_BYTES),
            (LPM_TRIE, 20, k.ROUTE_BYTES),
            (HASH, 20, MAC_BYTES),
        )
        return [
            MapDefinition("", kind, key, value, max(1, len(contents)))
            for (kind, key, value), contents in zip(shapes, self.contents(), strict=True)
        ]


def route(
    interface: int, mtu: int, mac: bytes, *, peer_mac: bytes | None, via: bytes = b"", metric: int = 0,
    labels: bool = False,
) -> bytes:  # fmt: skip
    """Return the bytes of a route through an interface: its MTU, MAC address, peer's MAC address and next hop."""
    words = struct.pack("<IIIIIII", 0, interface, mtu, metric, labels, peer_mac is not None, bool(via))
    return (words + (peer_mac or bytes(MAC_BYTES)) + mac + via).ljust(k.ROUTE_BYTES, b"\0")


def no_route(result: int) -> bytes:
    """Return the bytes of a route that does not forward; result: the return value of fib_lookup."""
    return result.to_bytes(4, "little").ljust(k.ROUTE_BYTES, b"\0")


def check_tables(program: Program, fib: ForwardingTables | None) -> None:
    """Raise InputError if a program calls fib_lookup and there are no tables."""
    if fib is None and "fib_lookup" in program.helpers:
        raise InputError(
            f"{program.path}: {program.name!r} calls fib_lookup, which asks a router's tables: name the router with "
            "--router ROUTER.toml or fib=npexplore.testing.forwarding_tables(ROUTER)"
        )
