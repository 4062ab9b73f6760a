"""The source of each bit of a graph's nodes: a copy of an input's bit, a constant, or computed.

Shifts, masks, and sums of parts that do not overlap only move bits, so that a number assembled from bytes consists of
copies. Bits are those of the Verilog: a node's own bits, extended by its sign, or by 0 if it cannot be negative.
"""

from __future__ import annotations

from itertools import chain

from npexplore.hardware.graph import Graph
from npexplore.hardware.places import Bit

Source = int | Bit | tuple[int, int]  # the constant 0 or 1; an input's bit; a node and its computed bit
MOST_KIN = 8


class Sources:
    """The sources of a graph's bits."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self._of = graph, dict[int, tuple[Source, ...]]()
        self._kin: dict[tuple[int, int], tuple[Bit, ...]] = {}

    def of(self, at: int, bits: int) -> tuple[Source, ...]:
        """Return the sources of a node's lowest `bits` bits, lowest first."""
        for node in self.graph.under((at,)):
            if node not in self._of:
                self._of[node] = tuple(self._bit_sources(node))
        return self._wide(at, bits)

    def kin(self, source: Source) -> tuple[Bit, ...]:
        """Return the bits of inputs of which a bit may be a copy."""
        if isinstance(source, int):
            return ()
        return (source,) if isinstance(source[0], str) else self._kin.get(source, ())

    def _wide(self, at: int, bits: int) -> tuple[Source, ...]:
        node_sources: tuple[Source, ...] = self._of[at]
        fill = node_sources[-1] if self.graph.nodes[at].lo < 0 else 0
        return (node_sources + (fill,) * (bits - len(node_sources)))[:bits]

    def _bit_sources(self, at: int) -> list[Source]:
        node = self.graph.nodes[at]
        bits, computed = node.bits, [(at, k) for k in range(node.bits)]
        if node.op == "const":
            return [node.value >> k & 1 for k in range(bits)]
        if node.op == "input":
            return [(node.value, k) for k in range(bits)]
        if node.op == "shl":
            return [*(0 for _ in range(node.value)), *self._wide(node.args[0], bits)][:bits]
        if node.op == "shr":
            return list(self._wide(node.args[0], bits + node.value)[node.value :])
        if node.op not in ("and", "or", "xor", "add", "mux"):
            return list(computed)
        a_bits, b_bits = (self._wide(operand, bits) for operand in node.args[-2:])
        if node.op == "add" and any(x != 0 and y != 0 for x, y in zip(a_bits, b_bits, strict=True)):
            return list(computed)
        if node.op == "mux":
            for computed_bit, x, y in zip(computed, a_bits, b_bits, strict=True):
                self._kin[computed_bit] = tuple(dict.fromkeys(chain(self.kin(x), self.kin(y))))[:MOST_KIN]
            return [x if x == y else computed_bit for computed_bit, x, y in zip(computed, a_bits, b_bits, strict=True)]
        simple = _and if node.op == "and" else _or if node.op == "or" else _sum
        return [simple(x, y, computed_bit) for computed_bit, x, y in zip(computed, a_bits, b_bits, strict=True)]


def _and(x: Source, y: Source, own: Source) -> Source:
    if x == 0 or y == 0:
        return 0
    return y if x in (1, y) else x if y == 1 else own


def _or(x: Source, y: Source, own: Source) -> Source:
    if x == 1 or y == 1:
        return 1
    return y if x in (0, y) else x if y == 0 else own


def _sum(x: Source, y: Source, own: Source) -> Source:
    """Return the source of x xor y, which is also the sum if there is no carry."""
    return y if x == 0 else x if y == 0 else 0 if x == y else own
