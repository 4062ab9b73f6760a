"""A program as graphs, and its accelerators: the plain data that lowering produces and back ends read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from npexplore.hardware.graph import Graph
from npexplore.hardware.shapes import Leaf, Shape
from npexplore.records import content_hash

ENDS = "(end)"
INTEGRITY = "integrity"  # name of the template for the Internet checksum of a field of whole bytes


@dataclass(frozen=True)
class Inline:
    """An accelerator that is a pure function and is lowered as part of the calling step."""

    run: Callable[..., Any]


@dataclass(frozen=True)
class Outside:
    """An accelerator behind a port; reply: the shape of its answer.

    table: constants of the engine that an answer indexes (None: the answer is the value). template: hardware inside the
    design that answers (`INTEGRITY`); empty: the surroundings answer.

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
    """A call through a port, made if `when` is 1; the names of the reply's registers begin with `reply.NAME`."""

    name: str
    accelerator: str
    when: int
    arguments: tuple[int, ...]
    reply: tuple[Leaf, ...]


@dataclass(frozen=True)
class LoweredStep:
    """A step as nodes of its graph. writes: the node that each register gets; next: the number of the next step.

    goes: the next steps' names, by number; `(end)` may be among them.
    """

    name: str
    graph: Graph = field(repr=False)
    requests: tuple[Request, ...]
    writes: Mapping[str, int]
    next: int
    goes: tuple[str, ...]

    def inputs(self, nodes: Sequence[int]) -> set[str]:
        """Return the names of the inputs on which some nodes depend."""
        under = (self.graph.nodes[node] for node in self.graph.under(nodes))
        return {node.value for node in under if node.op == "input"}


@dataclass(frozen=True)
class LoweredProgram:
    """A program: a graph per step, the registers of a thread, and the shapes of kept values.

    begins: the registers that have a value before the first step. results: the registers of the program's result.
    """

    __hash__ = content_hash

    name: str
    start: str
    steps: Mapping[str, LoweredStep]
    registers: tuple[Leaf, ...]
    shapes: Mapping[str, Shape]
    begins: frozenset[str]
    results: tuple[str, ...]
