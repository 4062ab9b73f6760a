"""The paths of a run as a tree: packets separate at branches of the program with different outcomes.

A path's decisions are its branches in the order of the code, each with the numbers of times it ran and was taken. A
branch with the same outcome for all packets of a node makes no node.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from npexplore.programs.result import ProgramRun

Decision = tuple[int, int, int]  # (slot of the branch, times run, times taken)


@dataclass
class _Node:
    decision: Decision | None = None
    packets: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    nodes: dict[Decision, _Node] = field(default_factory=dict)


def path_tree(run: ProgramRun) -> list[dict[str, Any]]:
    """Return the nodes of a run's tree, parents first: id, parent ("" of the root), depth, label, short,
    packets, share, verdicts.

    The label of a node names the branch at which its packets separated, and the outcome; short: with the line only.

    Example:
        >>> import npexplore as npx
        >>> from npexplore.programs import path_tree
        >>> text = "ldxw r2, [r1+0]\\nldxb r0, [r2+0]\\njne r0, 0, out\\nmov r0, 1\\nout: exit"
        >>> run = npx.program(text).run([b"\\0", b"\\2"])
        >>> [(one["label"], one["packets"]) for one in path_tree(run)]
        [('all packets', 2), ('3: jne r0, 0, out \u2192 goes on', 1), ('3: jne r0, 0, out \u2192 jumps', 1)]
    """
    root = _Node()
    for path in run.paths:
        node = root
        for decision in [None, *_decisions(run, path["path"])]:
            if decision is not None:
                node = node.nodes.setdefault(decision, _Node(decision))
            node.packets += path["packets"]
            node.verdicts[path["verdict"]] += path["packets"]
    rows: list[dict[str, Any]] = []
    _add(run, root, "", 0, rows)
    return rows


def _add(run: ProgramRun, node: _Node, parent: str, depth: int, rows: list[dict[str, Any]]) -> None:
    place, text, outcome = ("all", "all packets", "") if node.decision is None else _words(run, node.decision)
    while len(node.nodes) == 1 and (child := next(iter(node.nodes.values()))).packets == node.packets:
        node = child
    name = str(len(rows))
    rows.append({
        "id": name, "parent": parent, "depth": depth, "label": f"{text} \u2192 {outcome}" if outcome else text,
        "short": f"{place} {outcome}".strip(), "packets": node.packets, "share": node.packets / max(1, len(run)),
        "verdicts": dict(node.verdicts),
    })  # fmt: skip
    for following in sorted(node.nodes.values(), key=lambda child: -child.packets):
        _add(run, following, name, depth + 1, rows)


def _decisions(run: ProgramRun, path: int) -> list[Decision]:
    if path >= len(run.work.visits):
        return []  # packets whose path did not fit into the table of paths
    visits, taken = run.work.visits[path], run.work.taken[path]
    return [
        (run.work.slots[row], int(visits[row]), int(taken[row]))
        for row in np.flatnonzero(visits).tolist()
        if run.program.code[run.work.slots[row]].is_jump
    ]


def _words(run: ProgramRun, decision: Decision) -> tuple[str, str, str]:
    """Return the place of a branch, its text with the place, and its outcome."""
    slot, ran, taken = decision
    line = run.program.line_at(slot)
    outcome = f"jumps {taken} of {ran} times" if ran > 1 else "jumps" if taken else "goes on"
    if line is None:
        return f"slot {slot}", run.program.place(slot), outcome
    return f"line {line.line}", f"{line.line}: {line.text}", outcome
