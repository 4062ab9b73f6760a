"""Runs a lowered program on numbers: the same graphs that become hardware, evaluated in Python, a packet at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from npexplore.errors import ModelError
from npexplore.hardware.lowering import ENDS, LoweredProgram

MOST_STEPS = 10_000
Answers = Callable[[str, Sequence[int]], Mapping[str, int]]


def run_graphs(
    program: LoweredProgram, begins: Mapping[str, int], answers: Answers
) -> tuple[dict[str, int], list[str]]:
    """Return the registers of a thread at the end, and the steps that it passed.

    begins: registers by name at first. answers(accelerator, arguments): the reply's registers by what follows its name
    (`""`, `.kind`, ...). Raises ModelError for a program that does not end.
    """
    registers = dict.fromkeys((name for name, _, _ in program.registers), 0) | dict(begins)
    name, passed = program.start, list[str]()
    while name != ENDS:
        if len(passed) > MOST_STEPS:
            raise ModelError(f"program {program.name!r} does not end: {MOST_STEPS} steps, the last one {name!r}")
        passed.append(name)
        step = program.steps[name]
        read_nodes = [at for one in step.requests for at in (one.when, *one.arguments)]
        inputs = dict(registers)
        node_values = step.graph.evaluate(inputs, read_nodes)
        for one in step.requests:
            inputs |= {leaf: 0 for leaf, _, _ in one.reply}
            if node_values[one.when]:
                reply = answers(one.accelerator, [node_values[at] for at in one.arguments])
                inputs |= {f"reply.{one.name}{suffix}": value for suffix, value in reply.items()}
        done = step.graph.evaluate(inputs, [step.next, *step.writes.values()])
        registers |= {leaf: done[at] for leaf, at in step.writes.items()}
        name = step.goes[done[step.next]]
    return registers, passed
