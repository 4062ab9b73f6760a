"""Counts the events of each path on a network processor's microengines: instructions, branches, memory commands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import numpy as np

from npexplore.programs import instructions as isa
from npexplore.programs.events import Events
from npexplore.programs.microengine import EPILOGUE, PROLOGUE, compiled
from npexplore.programs.result import ProgramRun


def card_counter(run: ProgramRun) -> Callable[[int, float, float, defaultdict[str, float]], None]:
    """Return a function that adds an instruction's events (row, times run, times its jump is taken) to a dictionary.

    Raises RefusedError for instructions that the card's compiler does not accept.
    """
    compiled_slots = compiled(run.program)

    def count(row: int, times: float, taken: float, counts: defaultdict[str, float]) -> None:
        slot = run.work.slots[row]
        instruction, microcode = run.program.code[slot], compiled_slots[slot]
        jumps = taken if instruction.is_jump else times if instruction.opcode in (isa.JA, isa.JA32, isa.EXIT) else 0.0
        counts["instruction"] += (times - jumps) * microcode.instructions + jumps * microcode.if_taken
        counts["branch_taken"] += jumps
        if microcode.command:
            counts[microcode.command] += times
            action, memory = microcode.command.split(".")
            if memory == "map":
                counts[f"{action}_word"] += times * microcode.words

    return count


def card_events(run: ProgramRun) -> dict[int, Events]:
    """Return the events of a packet of each path, path -> event -> times.

    Events: `instruction`, each one cycle, including those around the program; `branch_taken`; commands by memory:
    `read.packet`, `write.packet`, `read.map`, `write.map`, `add.map`; 32-bit words moved from or to maps: `read_word`,
    `write_word`, `add_word`. Raises RefusedError for instructions that the card's compiler does not accept.
    """
    count = card_counter(run)
    events = {}
    for path, (visits, taken) in enumerate(zip(run.work.visits, run.work.taken, strict=True)):
        counts: defaultdict[str, float] = defaultdict(float, instruction=float(PROLOGUE + EPILOGUE))
        for row in np.flatnonzero(visits).tolist():
            count(row, float(visits[row]), float(taken[row]), counts)
        events[path] = {name: count for name, count in counts.items() if count}
    return events
