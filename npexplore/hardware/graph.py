"""A graph of expressions over integers: plain data that any back end can read, and that Python can evaluate.

    node = (op, args, value, lo, hi)      args: earlier nodes      lo, hi: its smallest and largest value

A node has the meaning of the same Python operation on integers; its width in bits follows from lo and hi (two's
complement if lo is negative). Equal nodes are stored once. While a graph is built, facts that hold on the current path
(a test that was passed) narrow ranges; a node with a narrower range than elsewhere is a different node.

    const  input           value: the number, the input's name
    add sub mul and or xor eq lt           of two nodes
    shl shr mod            of one node; value: by how much
    mux                    of (test, then, otherwise)
    table                  of an index; value: the entry of each index, from 0
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from npexplore.hardware.ranges import BINARY, combined, fold_range, trailing_zeros


class Node(NamedTuple):
    """An operation; the module describes `op`, `args` and `value`; lo, hi: the range of its values."""

    op: str
    args: tuple[int, ...]
    value: Any
    lo: int
    hi: int

    @property
    def bits(self) -> int:
        """The number of bits that hold every value, with a sign bit if lo is negative; at least 1."""
        if self.lo >= 0:
            return max(1, self.hi.bit_length())
        return max((-self.lo - 1).bit_length(), max(self.hi, 0).bit_length()) + 1


class Graph:
    """Nodes in order of creation, each after its arguments; constants are folded during construction."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._known: dict[Node, int] = {}
        self._facts: dict[int, tuple[int, int]] = {}
        self._trail: list[tuple[int, tuple[int, int] | None]] = []
        self._zeros: dict[int, int] = {}
        self._under: dict[tuple[int, ...], list[int]] = {}

    def node(self, op: str, args: tuple[int, ...], value: Any, lo: int, hi: int) -> int:
        """Return the index of a node, which is created if no equal node exists."""
        if lo == hi and op != "const":
            return self.const(lo)
        new_node = Node(op, args, value, lo, hi)
        at = self._known.get(new_node)
        if at is None:
            at = self._known[new_node] = len(self.nodes)
            self.nodes.append(new_node)
        return at

    def const(self, value: int) -> int:
        """Return a constant."""
        return self.node("const", (), int(value), int(value), int(value))

    def input(self, name: str, lo: int, hi: int) -> int:
        """Return an input with a name and a range."""
        return self.node("input", (), name, lo, hi)

    def range(self, at: int) -> tuple[int, int]:
        """Return the smallest and the largest value of a node on the current path."""
        node = self.nodes[at]
        return self._facts.get(at, (node.lo, node.hi))

    def constant(self, at: int) -> int | None:
        """Return the value of a node that can have only one value on the current path, else None."""
        lo, hi = self.range(at)
        return lo if lo == hi else None

    def mark(self) -> int:
        """Return a mark to which `undo` can return."""
        return len(self._trail)

    def undo(self, mark: int) -> None:
        """Forget all facts since a mark."""
        while len(self._trail) > mark:
            at, before = self._trail.pop()
            if before is None:
                del self._facts[at]
            else:
                self._facts[at] = before

    def narrow(self, at: int, lo: int, hi: int) -> None:
        """Restrict a node to a range until `undo`."""
        old = self.range(at)
        new = max(lo, old[0]), min(hi, old[1])
        if new == old or new[0] > new[1]:  # nothing new, or an impossible path
            return
        self._trail.append((at, self._facts.get(at)))
        self._facts[at] = new

    def assume(self, at: int, truth: bool) -> None:
        """Assume until `undo` that a test is passed (truth) or failed."""
        node = self.nodes[at]
        if node.lo < 0 or node.hi > 1:
            return
        self.narrow(at, int(truth), int(truth))
        contrary = self._known.get(Node("xor", (at, self.const(1)), None, 0, 1))
        if contrary is not None:
            self.narrow(contrary, int(not truth), int(not truth))
        if node.op == "xor" and self.nodes[node.args[1]].value == 1:
            self.assume(node.args[0], not truth)
        elif (node.op == "and" and truth) or (node.op == "or" and not truth):
            for operand in node.args:
                self.assume(operand, truth)
        elif node.op == "eq":
            self._assume_equal(node.args[0], node.args[1], truth)
        elif node.op == "lt":
            (a, b), (low, high) = node.args, (self.range(node.args[0]), self.range(node.args[1]))
            if truth:
                self.narrow(a, low[0], high[1] - 1)
                self.narrow(b, low[0] + 1, high[1])
            else:
                self.narrow(a, high[0], low[1])
                self.narrow(b, high[0], low[1])

    def _assume_equal(self, a: int, b: int, truth: bool) -> None:
        for node, other_node in ((a, b), (b, a)):
            lo, hi = self.range(node)
            if truth:
                self.narrow(node, *self.range(other_node))
            elif (value := self.constant(other_node)) is not None:
                self.narrow(node, lo + (value == lo), hi - (value == hi))

    def zeros(self, at: int) -> int:
        """Return the number of low bits of a node that are always 0 (for the constant 0: 64)."""
        if at not in self._zeros:
            node = self.nodes[at]
            self._zeros[at] = trailing_zeros(node.op, node.value, [self.zeros(arg) for arg in node.args])
        return self._zeros[at]

    def binary(self, op: str, a: int, b: int) -> int:
        """Return add, sub, mul, and, or, xor, eq or lt of two nodes."""
        left, right = self.constant(a), self.constant(b)
        if left is not None and right is not None:
            return self.const(BINARY[op](left, right))
        if op in ("add", "mul", "and", "or", "xor", "eq") and (left is not None or (right is None and a > b)):
            a, b, left, right = b, a, right, left
        simple = self._simple(op, a, b, right)
        if simple is not None:
            return simple
        tabled = self._in_table(op, a, b, left, right)
        if tabled is not None:
            return tabled
        lo, hi = combined(op, self.range(a), self.range(b))
        if op == "add":
            lo, hi = self._folded(a, b, lo, hi)
        result = self.node(op, (a, b), None, lo, hi)
        value = self.constant(result)
        return result if value is None else self.const(value)

    def _simple(self, op: str, a: int, b: int, right: int | None) -> int | None:
        lo, hi = self.range(a)
        if a == b and op in ("and", "or"):
            return a
        if a == b and op in ("eq", "xor", "sub", "lt"):
            return self.const(op == "eq")
        if right == 0 and op in ("add", "sub", "or", "xor"):
            return a
        if op == "and" and right is not None and lo >= 0:
            if 0 <= right < 1 << self.zeros(a):
                return self.const(0)
            if right >= 0 and right & (right + 1) == 0 and hi <= right:
                return a
        if op == "mul" and right is not None and right > 0 and right & (right - 1) == 0:
            return self.shift("shl", a, right.bit_length() - 1)
        if op == "eq" and right is not None and (lo, hi) == (0, 1):
            return a if right == 1 else self.invert(a) if right == 0 else self.const(0)
        if op in ("and", "or") and right is not None and (lo, hi) == (0, 1) and right in (0, 1):
            return a if right == (op == "and") else b
        if op == "xor" and right == 1 and self.nodes[a].op == "xor" and self.nodes[a].args[1] == b:
            return self.nodes[a].args[0]  # double negation
        return None

    def _in_table(self, op: str, a: int, b: int, left: int | None, right: int | None) -> int | None:
        """Return a table with the operation applied to every entry, if one operand is a table, the other a constant."""
        if right is not None and self.nodes[a].op == "table":
            return self.table(self.nodes[a].args[0], [BINARY[op](entry, right) for entry in self.nodes[a].value])
        if left is not None and self.nodes[b].op == "table":
            return self.table(self.nodes[b].args[0], [BINARY[op](left, entry) for entry in self.nodes[b].value])
        return None

    def _folded(self, a: int, b: int, lo: int, hi: int) -> tuple[int, int]:
        """Return the range of (x & 2^k - 1) + (x >> k), the end-around carry of checksums."""
        for low, high in ((self.nodes[a], b), (self.nodes[b], a)):
            top = self.nodes[high]
            if low.op == "and" and low.args[0] in top.args and top.op == "shr":
                mask = self.constant(low.args[1])
                if mask is not None and mask + 1 == 1 << top.value:
                    return lo, min(hi, fold_range(self.range(low.args[0])[1], top.value))
        return lo, hi

    def shift(self, op: str, a: int, by: int) -> int:
        """Return a node shifted by a constant; op: shl or shr."""
        if by == 0:
            return a
        lo, hi = self.range(a)
        if op == "shl":
            return self.node(op, (a,), by, lo << by, hi << by)
        if self.nodes[a].op == "table":
            return self.table(self.nodes[a].args[0], [entry >> by for entry in self.nodes[a].value])
        return self.node(op, (a,), by, lo >> by, hi >> by)

    def modulo(self, a: int, by: int) -> int:
        """Return a node modulo a positive number."""
        lo, hi = self.range(a)
        if by & (by - 1) == 0:
            return self.binary("and", a, self.const(by - 1))
        return a if lo >= 0 and hi < by else self.node("mod", (a,), by, 0, by - 1)

    def invert(self, a: int) -> int:
        """Return 1 for 0 and 0 for 1."""
        return self.binary("xor", a, self.const(1))

    def mux(self, test: int, then: int, otherwise: int) -> int:
        """Return `then` if a test is 1, else `otherwise`."""
        known = self.constant(test)
        if known is not None or then == otherwise:
            return then if known != 0 else otherwise
        if self.nodes[test].op == "xor" and self.nodes[self.nodes[test].args[1]].value == 1:
            test, then, otherwise = self.nodes[test].args[0], otherwise, then
        if self.nodes[then].op == "mux" and self.nodes[then].args[0] == test:
            then = self.nodes[then].args[1]
        if self.nodes[otherwise].op == "mux" and self.nodes[otherwise].args[0] == test:
            otherwise = self.nodes[otherwise].args[2]
        ranges = []
        for truth, branch in ((True, then), (False, otherwise)):
            mark = self.mark()
            self.assume(test, truth)
            ranges.append(self.range(branch))
            self.undo(mark)
        then_value, otherwise_value = self.constant(then), self.constant(otherwise)
        if then_value == 1 and otherwise_value == 0:
            return test
        if then_value == 0 and otherwise_value == 1:
            return self.invert(test)
        if all(self.nodes[at].lo >= 0 and self.nodes[at].hi <= 1 for at in (then, otherwise)):
            if then_value is not None:
                return (
                    self.binary("or", test, otherwise)
                    if then_value
                    else self.binary("and", self.invert(test), otherwise)
                )
            if otherwise_value is not None:
                return self.binary("or", self.invert(test), then) if otherwise_value else self.binary("and", test, then)
        lo, hi = min(lo for lo, _ in ranges), max(hi for _, hi in ranges)
        return self.node("mux", (test, then, otherwise), None, lo, hi)

    def table(self, index: int, values: Sequence[int]) -> int:
        """Return the entry of a list of numbers at an index; entries beyond the index's range are left out."""
        node = self.nodes[index]
        if node.op == "table":
            return self.table(node.args[0], [values[index_value] for index_value in node.value])
        lo, hi = self.range(index)
        entries = tuple(int(value) for value in values[: hi + 1])
        used = entries[max(lo, 0) :]
        if set(used) == {0, 1} and sum(used) == 1:
            return self.binary("eq", index, self.const(entries.index(1, max(lo, 0))))
        return self.node("table", (index,), entries, min(used), max(used))

    def evaluate(self, inputs: Mapping[str, int], wanted: Iterable[int]) -> dict[int, int]:
        """Return the values of nodes for given input values; raises KeyError for a missing input."""
        needed = list(wanted)
        values: dict[int, int] = {}
        for at in self.under(needed):
            node = self.nodes[at]
            args = [values[arg] for arg in node.args]
            if node.op == "input":
                values[at] = int(inputs[node.value])
            elif node.op == "const":
                values[at] = node.value
            elif node.op == "mux":
                values[at] = args[1] if args[0] else args[2]
            elif node.op == "table":
                values[at] = node.value[args[0]] if 0 <= args[0] < len(node.value) else 0
            elif node.op in ("shl", "shr", "mod"):
                values[at] = BINARY[node.op](args[0], node.value)
            else:
                values[at] = BINARY[node.op](*args)
        return {at: values[at] for at in needed}

    def under(self, wanted: Iterable[int]) -> list[int]:
        """Return, in order, some nodes and all nodes on which they depend."""
        key = tuple(wanted)
        if key in self._under:
            return self._under[key]
        reached, todo = set[int](), list(key)
        while todo:
            at = todo.pop()
            if at not in reached:
                reached.add(at)
                todo.extend(self.nodes[at].args)
        self._under[key] = sorted(reached)
        return self._under[key]
