"""The numbers that a program may leave in a register, collected from all choices that lead there.

The search does not distinguish paths: the result contains every possible number, and possibly numbers that no packet
produces.
"""

from __future__ import annotations

from npexplore.errors import ModelError
from npexplore.hardware.graph import Graph
from npexplore.hardware.programs import LoweredProgram

MAX_SPAN = 2  # computed values with hi - lo below this limit are listed


def values_of(program: LoweredProgram, register: str) -> set[int]:
    """Return the numbers that any step may write to a register; raises ModelError if a number is computed."""
    values, visited, todo = set[int](), {register}, [register]
    while todo:
        name = todo.pop()
        for step in program.steps.values():
            if name in step.writes:
                numbers, source_registers = _ends(step.graph, step.writes[name], f"step {step.name!r}: {name}")
                values |= numbers
                todo += source_registers - visited
                visited |= source_registers
    return values


def _ends(graph: Graph, at: int, subject: str) -> tuple[set[int], set[str]]:
    """Return (numbers, registers) among which a node chooses."""
    numbers, names, todo = set[int](), set[str](), [at]
    visited = set(todo)
    while todo:
        node = graph.nodes[todo.pop()]
        if node.op == "mux":
            branches = [branch for branch in node.args[1:] if branch not in visited]
            todo += branches
            visited |= set(branches)
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
