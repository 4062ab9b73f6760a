"""One packet of a capture as dpkt's layers, with two values that dpkt does not keep: link length and arrival time."""

from __future__ import annotations

from typing import Any, NamedTuple

from npexplore.errors import InputError
from npexplore.packets.files import Files, open_captures

# link type -> module and class of dpkt
LAYERS = {
    0: ("loopback", "Loopback"), 1: ("ethernet", "Ethernet"), 9: ("ppp", "PPP"), 108: ("loopback", "Loopback"),
    113: ("sll", "SLL"), 127: ("radiotap", "Radiotap"), 229: ("ip6", "IP6"), 276: ("sll2", "SLL2"),
}  # fmt: skip
RAW = (12, 14, 101, 228)  # link types whose packets begin with an IP header


class Dissected(NamedTuple):
    """A packet: dpkt's layers (the octets themselves where dpkt cannot read them), lengths in bytes, time in ns.

    length: bytes on the link; captured: bytes in the file.
    """

    layers: Any
    length: int
    captured: int
    t_ns: int


def dissect(files: Files, row: int) -> Dissected:
    """Return packet `row` (from 0) of a capture. Raises InputError for a row outside the capture."""
    rows_before = 0
    for table, (data, base) in open_captures(files).each(lambda table, data, base: (data, base)):
        if row < rows_before + table.rows:
            index = row - rows_before
            at, captured = int(table["position"][index]) - base, int(table["captured"][index])
            octets = bytes(data[at : at + captured])
            layers = _layers(octets, int(table["link_type"][index]))
            return Dissected(layers, int(table["length"][index]), captured, int(table["t_ns"][index]))
        rows_before += table.rows
    raise InputError(f"packet must be 0 to {rows_before - 1}, got {row}")


def _layers(octets: bytes, link_type: int) -> Any:
    """Return a packet as dpkt's layers, or its octets if dpkt has no such link type or fails on damage."""
    from importlib import import_module

    module, kind = LAYERS.get(link_type, ("", ""))
    if link_type in RAW and octets:
        module, kind = ("ip6", "IP6") if octets[0] >> 4 == 6 else ("ip", "IP")
    if not module:
        return octets
    try:
        return getattr(import_module(f"dpkt.{module}"), kind)(octets)
    except Exception:  # dpkt raises whatever its parsers meet: UnpackError, IndexError, struct.error, ValueError
        return octets
