"""The numbers that a program may leave in a register: the ends of all choices that lead there.

Ways are not told apart, so that a number that no packet brings about may be among them; none is left out.
"""

from __future__ import annotations

from npexplore.errors import ModelError
from npexplore.hardware.graph import Graph
from npexplore.hardware.programs import LoweredProgram

MAX_SPAN = 2  # largest high - low of a computed value whose numbers are all listed, exclusive


def values_of(program: LoweredProgram, register: str) -> set[int]:
    """Return the numbers that a register may be given by any step; raises ModelError where they are computed."""
    values, done, todo = set[int](), {register}, [register]
    while todo:
        name = todo.pop()
        for step in program.steps.values():
            if name in step.writes:
                numbers, taken = _ends(step.graph, step.writes[name], f"step {step.name!r}: {name}")
                values |= numbers
                todo += taken - done
                done |= taken
    return values


def _ends(graph: Graph, at: int, subject: str) -> tuple[set[int], set[str]]:
    """Return the numbers at the ends of a node's choices, and the registers there."""
    numbers, names, todo = set[int](), set[str](), [at]
    seen = set(todo)
    while todo:
        node = graph.nodes[todo.pop()]
        if node.op == "mux":
            more = [one for one in node.args[1:] if one not in seen]
            todo += more
            seen |= set(more)
        elif node.op == "table":
            numbers |= set(node.value)
        elif node.op == "const":
            numbers.add(int(node.value))
        elif node.op == "input":
            names.add(node.value)
        elif node.hi - node.lo < MAX_SPAN:
            numbers |= set(range(node.lo, node.hi + 1))
        else:
            raise ModelError(f"{subject} is computed, not chosen; its values are {node.lo} to {node.hi}")
    return numbers, names
