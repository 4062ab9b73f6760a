"""A program as graphs, and what its accelerators are: plain data between lowering and whatever is made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from npexplore.hardware.graph import Graph
from npexplore.hardware.shapes import Leaf, Shape
from npexplore.records import content_hash

ENDS = "(end)"
INTEGRITY = "integrity"  # the Internet checksum of a field, of whole bytes


@dataclass(frozen=True)
class Inline:
    """An accelerator that is a function of its arguments, lowered with the step."""

    run: Callable[..., Any]


@dataclass(frozen=True)
class Outside:
    """An accelerator behind a port: the shape of what it answers.

    table: what an answered number stands for, where the engine itself has that as constants. template: of hardware
    that answers, inside the design (`INTEGRITY`); else whatever is around it does.

    Example:
        >>> from npexplore.hardware import Outside
        >>> Outside(16).template
        ''
    """

    __hash__ = content_hash

    reply: Shape
    table: Sequence[Any] | None = None
    template: str = ""


Unit = Inline | Outside


@dataclass(frozen=True)
class Request:
    """A call that goes through a port: made where `when` is 1; the reply's registers begin with `reply.NAME`."""

    name: str
    accelerator: str
    when: int
    arguments: tuple[int, ...]
    reply: tuple[Leaf, ...]


@dataclass(frozen=True)
class LoweredStep:
    """A step as nodes of its graph: its requests, the register each name takes, the number of the next step.

    goes: names by number; the last one may be `(end)`.
    """

    name: str
    graph: Graph = field(repr=False)
    requests: tuple[Request, ...]
    writes: Mapping[str, int]
    next: int
    goes: tuple[str, ...]

    def inputs(self, nodes: Sequence[int]) -> set[str]:
        """Return the names of the inputs that some nodes are made of."""
        under = (self.graph.nodes[at] for at in self.graph.under(nodes))
        return {node.value for node in under if node.op == "input"}


@dataclass(frozen=True)
class LoweredProgram:
    """A program as graphs by step, the registers of a thread, and the shapes of what steps keep.

    begins, results: the registers that have a value before the first step, and those that are the program's answer.
    """

    __hash__ = content_hash

    name: str
    start: str
    steps: Mapping[str, LoweredStep]
    registers: tuple[Leaf, ...]
    shapes: Mapping[str, Shape]
    begins: frozenset[str]
    results: tuple[str, ...]
