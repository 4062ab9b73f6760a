"""The compiler of step programs: splits steps at hazards into substeps with the three parts of the paper.

    width       a step that reads more bits than the width of the scratchpad becomes ceil(bits / width) substeps
    dependency  a call that takes another call's reply moves to the next substep
    structure   an accelerator with n ports takes n calls of a substep, further calls move to the next

Section 3.3: the request builder issues the calls, the context edit computes, the jump names the next step. If all jumps
go forward and every accelerator answers after a constant delay, the steps form a straight pipeline.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from npexplore.errors import ModelError, one_of
from npexplore.machine.step_programs.language import Call, Step, StepProgram
from npexplore.records import content_hash


@dataclass(frozen=True)
class Substep:
    """A part of a step: bits read, calls of the request builder, and the step whose context edit and jump it does.

    step: None if it only reads or calls, and continues with the next substep. why: the hazard that split it off.

    Example:
        >>> from npexplore.step_programs import Substep
        >>> Substep("parse", 32, (), None).bits
        32
    """

    name: str
    bits: int
    calls: tuple[Call, ...]
    step: Step | None
    why: str = ""

    @property
    def goes(self) -> tuple[str, ...]:
        """The possible targets of the jump; none if the step continues with another substep."""
        return self.step.goes if self.step is not None else ()


@dataclass(frozen=True)
class Compiled:
    """A program after splitting; `pieces[step]` are the substeps of a step in their order.

    Example:
        >>> from npexplore.step_programs import Step, StepProgram, compile_steps
        >>> program = StepProgram("drop", "drop")
        >>> program.add(Step("drop", lambda context: None))
        >>> compile_steps(program).width_bits
        128
    """

    __hash__ = content_hash

    program: StepProgram
    width_bits: int
    pieces: Mapping[str, tuple[Substep, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of substeps."""
        return sum(map(len, self.pieces.values()))

    def substeps(self) -> list[Substep]:
        """Return all substeps in program order."""
        return [piece for pieces in self.pieces.values() for piece in pieces]

    def backward(self) -> list[tuple[str, str]]:
        """Return the jumps (from, to) that do not go forward in program order."""
        order = {name: k for k, name in enumerate(self.pieces)}
        return [(a, b) for a in order for b in self.program.steps[a].goes if order[b] <= order[a]]


def compile_steps(program: StepProgram, width_bits: int = 128, ports: Mapping[str, int] | None = None) -> Compiled:
    """Return a program with its hazards resolved.

    program: the program as written. width_bits: width of the scratchpad, in bits. ports: accelerator -> calls that it
    takes from one substep (default 1).

    Raises ModelError for calls that need each other's replies and for accelerators without a port; UnknownNameError for
    a next step that does not exist.
    """
    if width_bits < 1:
        raise ModelError(f"program {program.name!r}: the scratchpad must be at least 1 bit wide, got {width_bits}")
    for name, count in (ports or {}).items():
        if count < 1:
            raise ModelError(f"program {program.name!r}: accelerator {name!r} must have at least 1 port, got {count}")
    program.check()
    pieces = {s.name: tuple(_split(program, s, width_bits, ports or {})) for s in program.steps.values()}
    return Compiled(program, width_bits, pieces)


def _split(program: StepProgram, step: Step, width: int, ports: Mapping[str, int]) -> list[Substep]:
    bits = sum(program.fields[name].bits for name in step.reads)
    groups = _levels(program, step, ports)
    reads = [min(width, bits - width * k) for k in range(max(1, -(-bits // width)))]
    rows = [(n, (), "width") for n in reads[:-1]] + [(reads[-1], groups[0][0], "width" if len(reads) > 1 else "")]
    rows += [(0, calls, why) for calls, why in groups[1:]]
    names = [step.name] if len(rows) == 1 else [f"{step.name}.{k}" for k in range(1, len(rows) + 1)]
    return [
        Substep(name, n, tuple(calls), step if k == len(rows) - 1 else None, why)
        for k, (name, (n, calls, why)) in enumerate(zip(names, rows, strict=True))
    ]


def _levels(program: StepProgram, step: Step, ports: Mapping[str, int]) -> list[tuple[list[Call], str]]:
    """Return groups of calls that can be issued together, in order, each with the hazard that separates it."""
    remaining, answered, groups = list(step.calls), set[str](), list[tuple[list[Call], str]]()
    while remaining:
        waiting = {call.reply for call in remaining}
        ready = [call for call in remaining if not waiting & {*call.takes, call.when}]
        if not ready:
            names = ", ".join(call.reply for call in remaining)
            raise ModelError(f"program {program.name!r}, step {step.name!r}: calls take each other's replies: {names}")
        group: list[Call] = []
        for call in ready:
            if sum(other.accelerator == call.accelerator for other in group) < ports.get(call.accelerator, 1):
                group.append(call)
        why = "" if not groups else "dependency" if any({*c.takes, c.when} & answered for c in group) else "structure"
        groups.append((group, why))
        answered |= {call.reply for call in group}
        remaining = [call for call in remaining if call not in group]
    return groups or [([], "")]


@dataclass(frozen=True)
class Pipeline:
    """A program as a straight pipeline: stages with their cycles; one packet enters each interval.

    Example:
        >>> from npexplore.step_programs import Pipeline
        >>> Pipeline((("parse", 4), ("look_up", 12))).latency_cycles
        16
    """

    stages: tuple[tuple[str, int], ...]
    interval_cycles: int = 1

    @property
    def latency_cycles(self) -> int:
        """Cycles from the first stage to the end of the last."""
        return sum(cycles for _, cycles in self.stages)


def pipeline(
    compiled: Compiled, delays: Mapping[str, int | None], request_cycles: int = 1, edit_cycles: int = 1
) -> Pipeline:
    """Return a compiled program as a straight pipeline.

    compiled: the program. delays: accelerator -> cycles after which it answers (None: not constant). request_cycles,
    edit_cycles: cycles in which a substep issues its calls, and computes.

    Raises ModelError for a jump back or a delay that is not constant, UnknownNameError for an accelerator without a
    delay.
    """
    back = compiled.backward()
    if back:
        step, to = back[0]
        raise ModelError(f"program {compiled.program.name!r} is not a pipeline: {step!r} jumps back to {to!r}")
    stages = []
    for piece in compiled.substeps():
        delays_of_calls = [0]
        for call in piece.calls:
            delay = delays[one_of(f"delay of accelerator in step {piece.name!r}", call.accelerator, delays)]
            if delay is None:
                raise ModelError(
                    f"program {compiled.program.name!r} is not a pipeline: {call.accelerator!r} has no constant delay"
                )
            delays_of_calls.append(delay)
        stages.append((piece.name, request_cycles + max(delays_of_calls) + edit_cycles))
    return Pipeline(tuple(stages))
