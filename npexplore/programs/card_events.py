"""What the packets of each path do on a network processor's microengines: instructions, branches, memory commands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import numpy as np

from npexplore.programs import instructions as isa
from npexplore.programs.events import Events
from npexplore.programs.microengine import EPILOGUE, PROLOGUE, compiled
from npexplore.programs.result import ProgramRun


def card_counter(run: ProgramRun) -> Callable[[int, float, float, defaultdict[str, float]], None]:
    """Return what adds the events of an instruction, visited and its jump taken so many times, to a dictionary.

    Raises RefusedError for what the card's compiler does not take.
    """
    becomes = compiled(run.program)

    def count(row: int, times: float, taken: float, counts: defaultdict[str, float]) -> None:
        slot = run.work.slots[row]
        one, part = run.program.code[slot], becomes[slot]
        away = taken if one.is_jump else times if one.opcode in (isa.JA, isa.JA32, isa.EXIT) else 0.0
        counts["instruction"] += (times - away) * part.instructions + away * part.if_taken
        counts["branch_taken"] += away
        if part.command:
            counts[part.command] += times
            action, memory = part.command.split(".")
            if memory == "map":
                counts[f"{action}_word"] += times * part.words

    return count


def card_events(run: ProgramRun) -> dict[int, Events]:
    """Return the events of a packet of each path, path -> event -> times.

    Events: `instruction`, each a cycle, with those around the program; `branch_taken`; commands by memory:
    `read.packet`, `write.packet`, `read.map`, `write.map`, `add.map`; words of 32 bits that go to and from maps:
    `read_word`, `write_word`, `add_word`. Raises RefusedError for what the card's compiler does not take.
    """
    count = card_counter(run)
    events = {}
    for path, (visits, taken) in enumerate(zip(run.work.visits, run.work.taken, strict=True)):
        counts: defaultdict[str, float] = defaultdict(float, instruction=float(PROLOGUE + EPILOGUE))
        for row in np.flatnonzero(visits).tolist():
            count(row, float(visits[row]), float(taken[row]), counts)
        events[path] = {name: count for name, count in counts.items() if count}
    return events
