"""A step program of a user's own with what hardware must know beside it, and packets that try it.

    hardware = StepHardware(
        compile_steps(program),
        begins={"packet": Octets(16, (16, 16), (0, 1500), True), "port": Whole(0, 3)},
        results=["sent"],
        units={"lookup": Outside(maybe(7))},
        accelerators={"lookup": lambda key: Answer(key & 7)},
    )

Units say how hardware has accelerators: `Outside` behind a port, with the shape of the reply; `Inline` as part of the
step. What those behind ports answer, Python says, and the test bench plays it back; one with a template answers itself:
`Outside(Whole(0, 0xFFFF), template="integrity")` is the Internet checksum of a field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from npexplore.errors import ModelError, UnknownNameError, one_of
from npexplore.golden.checksum import internet_checksum
from npexplore.hardware.lowering import lower_program
from npexplore.hardware.programs import INTEGRITY, Inline, LoweredProgram, Outside, Unit
from npexplore.hardware.shapes import BYTE, Fixed, Octets, Parts, Shape, Whole
from npexplore.machine.step_programs import Answer, Compiled, Trace, execute
from npexplore.machine.step_programs.execution import Accelerator
from npexplore.records import content_hash

Case = Mapping[str, Any]
TEMPLATES: Mapping[str, Accelerator] = {INTEGRITY: lambda data: Answer(internet_checksum(data))}


@dataclass(frozen=True)
class StepHardware:
    """A compiled program; shapes of what a packet begins with; kept values that are its answer; its accelerators.

    cases: given a number, so many packets to try it with (at most; names of `begins` with their values), else drawn.
    """

    __hash__ = content_hash

    compiled: Compiled
    begins: Mapping[str, Shape]
    results: Sequence[str]
    units: Mapping[str, Unit] = field(default_factory=dict)
    accelerators: Mapping[str, Accelerator] = field(default_factory=dict)
    cases: Callable[[int], Sequence[Case]] | None = None

    def __post_init__(self) -> None:
        for name, unit in self.units.items():
            if isinstance(unit, Outside) and unit.template:
                one_of(f"template of {name}", unit.template, TEMPLATES)
                if unit.reply != Whole(0, 0xFFFF):
                    raise ModelError(f"{name}: {unit.template} answers Whole(0, 65535), got {unit.reply}")
            elif isinstance(unit, Outside) and name not in self.accelerators:
                raise UnknownNameError("accelerator, for what it answers,", name, self.accelerators)
        if not self.results:
            raise ModelError(f"program {self.compiled.program.name!r}: hardware needs the names of results, got none")

    @property
    def answering(self) -> dict[str, Accelerator]:
        """What accelerators behind ports answer: as Python says, or by the plain model of their template."""
        units = ((name, unit) for name, unit in self.units.items() if isinstance(unit, Outside) and unit.template)
        return {**self.accelerators, **{name: TEMPLATES[unit.template] for name, unit in units}}

    @cached_property
    def lowered(self) -> LoweredProgram:
        """The program as graphs; raises ModelError for what hardware cannot have, with step, line and reason."""
        return lower_program(self.compiled, self.units, self.begins, self.results)

    def run(self, case: Case, accelerators: Mapping[str, Accelerator] | None = None) -> Trace:
        """Return what the step program makes of a packet; accelerators: in place of its own."""
        inline = {
            name: _answering(unit.run) for name, unit in self.units.items() if isinstance(unit, Inline)
        }  # fmt: skip
        return execute(self.compiled, {**inline, **self.answering, **(accelerators or {})}, **case)

    def tried(self, count: int, seed: int = 1) -> list[dict[str, Any]]:
        """Return so many packets: its own first, then drawn ones, the same for a seed.

        What is drawn are ends of ranges, numbers that the program compares with and their neighbours, and any others.
        """
        cases = [dict(one) for one in (self.cases(count) if self.cases is not None else ())][:count]
        rng, near = np.random.default_rng(seed), _compared(self.lowered)
        while len(cases) < count:
            cases.append({name: _drawn(shape, name, rng, near) for name, shape in self.begins.items()})
        return cases


def _answering(run: Callable[..., Any]) -> Accelerator:
    return lambda *arguments: Answer(run(*arguments))


def _compared(program: LoweredProgram) -> dict[str, list[int]]:
    """Return by register the numbers that it, or some bits of it, are compared with; under "" all such numbers."""
    compared: dict[str, set[int]] = {}
    for step in program.steps.values():
        nodes = step.graph.nodes
        for node in nodes:
            sides = [nodes[at] for at in node.args] if node.op in ("eq", "lt") else []
            for one, other in zip(sides, sides[::-1], strict=True):
                if one.op == "const":
                    shift, of = (other.value, nodes[other.args[0]]) if other.op == "shr" else (0, other)
                    of = nodes[of.args[0]] if of.op == "and" else of
                    near = {one.value + by << shift for by in (-1, 0, 1)}
                    for name in dict.fromkeys(("", of.value if of.op == "input" else "")):
                        compared.setdefault(name, set()).update(near)
    return {name: sorted(numbers) for name, numbers in compared.items()}


def _drawn(shape: Shape, name: str, rng: np.random.Generator, near: Mapping[str, Sequence[int]]) -> Any:
    if isinstance(shape, Whole):
        return _number(shape.lo, shape.hi, rng, near.get(name) or near.get("", ()))
    if isinstance(shape, Octets):
        high = shape.length[1] if shape.tail else min(shape.length[1], shape.window)
        length = _number(shape.length[0], high, rng, [shape.window - 1, shape.window, shape.window + 1])
        data = bytearray(rng.bytes(length))
        for k in range(min(length, shape.window)):
            if f"{name}.{k}" in near and rng.integers(4):
                data[k] = _number(0, BYTE, rng, near[f"{name}.{k}"])
        return bytes(data)
    if isinstance(shape, Parts):
        named = zip(shape.names(), shape.parts, strict=True)
        parts = [_drawn(one, f"{name}.{part}", rng, near) for part, one in named]
        return shape.kind(*parts) if hasattr(shape.kind, "_fields") else tuple(parts)
    if isinstance(shape, Fixed):
        return shape.value
    k = int(rng.integers(len(shape.choices)))
    return _drawn(shape.choices[k][1], f"{name}.is{k}", rng, near)


def _number(lo: int, hi: int, rng: np.random.Generator, near: Sequence[int]) -> int:
    known = [one for one in near if lo <= one <= hi]
    dice = int(rng.integers(4))
    if dice < 2 and known:
        return known[int(rng.integers(len(known)))]
    if dice == 2:
        return (lo, hi)[int(rng.integers(2))]
    span = hi - lo + 1
    return lo + int.from_bytes(rng.bytes(-(-span.bit_length() // 8) + 1), "big") % span
