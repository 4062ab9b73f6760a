"""`StepHardware`: a user's step program with the additional facts that hardware needs, and packets that test it.

    hardware = StepHardware(
        compile_steps(program),
        begins={"packet": Octets(16, (16, 16), (0, 1500), True), "port": Whole(0, 3)},
        results=["sent"],
        units={"lookup": Outside(maybe(7))},
        accelerators={"lookup": lambda key: Answer(key & 7)},
    )

Units describe how hardware implements accelerators: `Outside` behind a port, with the shape of the reply, or `Inline`
as part of the step. Python functions compute the answers of accelerators behind ports, and the test bench plays them
back. An accelerator with a template answers in hardware: `Outside(Whole(0, 0xFFFF), template="integrity")` computes the
Internet checksum of a field.
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
    """A compiled program with what hardware needs.

    begins: shapes of the initial values of a packet. results: names of the kept values that are the result. units: how
    hardware implements accelerators. accelerators: functions that compute answers. cases: number -> at most as many
    test packets (names in `begins` with values); the rest is drawn at random.
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
        """The functions that answer for accelerators behind ports: the user's, or the model of a template."""
        units = ((name, unit) for name, unit in self.units.items() if isinstance(unit, Outside) and unit.template)
        return {**self.accelerators, **{name: TEMPLATES[unit.template] for name, unit in units}}

    @cached_property
    def lowered(self) -> LoweredProgram:
        """The program as graphs; raises ModelError, with step, line and reason, if it cannot become hardware."""
        return lower_program(self.compiled, self.units, self.begins, self.results)

    def run(self, case: Case, accelerators: Mapping[str, Accelerator] | None = None) -> Trace:
        """Run the step program on a packet and return its trace; accelerators: replace its own."""
        inline = {
            name: _answering(unit.run) for name, unit in self.units.items() if isinstance(unit, Inline)
        }  # fmt: skip
        return execute(self.compiled, {**inline, **self.answering, **(accelerators or {})}, **case)

    def tried(self, count: int, seed: int = 1) -> list[dict[str, Any]]:
        """Return `count` test packets: the user's first, then random ones, which the seed fixes.

        Random values are ends of ranges, numbers with which the program compares, their neighbours, and any others.
        """
        cases = [dict(case) for case in (self.cases(count) if self.cases is not None else ())][:count]
        rng, compared_numbers = np.random.default_rng(seed), _compared(self.lowered)
        while len(cases) < count:
            cases.append({name: _drawn(shape, name, rng, compared_numbers) for name, shape in self.begins.items()})
        return cases


def _answering(run: Callable[..., Any]) -> Accelerator:
    return lambda *arguments: Answer(run(*arguments))


def _compared(program: LoweredProgram) -> dict[str, list[int]]:
    """Return, by register, the numbers with which it or some of its bits are compared; all numbers under ""."""
    compared: dict[str, set[int]] = {}
    for step in program.steps.values():
        nodes = step.graph.nodes
        for node in nodes:
            sides = [nodes[at] for at in node.args] if node.op in ("eq", "lt") else []
            for side, opposite in zip(sides, sides[::-1], strict=True):
                if side.op == "const":
                    shift, tested = (opposite.value, nodes[opposite.args[0]]) if opposite.op == "shr" else (0, opposite)
                    tested = nodes[tested.args[0]] if tested.op == "and" else tested
                    numbers = {side.value + offset << shift for offset in (-1, 0, 1)}
                    for name in dict.fromkeys(("", tested.value if tested.op == "input" else "")):
                        compared.setdefault(name, set()).update(numbers)
    return {name: sorted(numbers) for name, numbers in compared.items()}


def _drawn(shape: Shape, name: str, rng: np.random.Generator, near: Mapping[str, Sequence[int]]) -> Any:
    if isinstance(shape, Whole):
        return _number(shape.lo, shape.hi, rng, near.get(name) or near.get("", ()))
    if isinstance(shape, Octets):
        high = shape.length[1] if shape.tail else min(shape.length[1], shape.window)
        length = _number(shape.length[0], high, rng, [shape.window - 1, shape.window, shape.window + 1])
        data = bytearray(rng.bytes(length))
        for choice in range(min(length, shape.window)):
            if f"{name}.{choice}" in near and rng.integers(4):
                data[choice] = _number(0, BYTE, rng, near[f"{name}.{choice}"])
        return bytes(data)
    if isinstance(shape, Parts):
        named_parts = zip(shape.names(), shape.parts, strict=True)
        parts = [_drawn(part_shape, f"{name}.{part}", rng, near) for part, part_shape in named_parts]
        return shape.kind(*parts) if hasattr(shape.kind, "_fields") else tuple(parts)
    if isinstance(shape, Fixed):
        return shape.value
    choice = int(rng.integers(len(shape.choices)))
    return _drawn(shape.choices[choice][1], f"{name}.is{choice}", rng, near)


def _number(lo: int, hi: int, rng: np.random.Generator, near: Sequence[int]) -> int:
    candidates = [number for number in near if lo <= number <= hi]
    dice = int(rng.integers(4))
    if dice < 2 and candidates:
        return candidates[int(rng.integers(len(candidates)))]
    if dice == 2:
        return (lo, hi)[int(rng.integers(2))]
    span = hi - lo + 1
    return lo + int.from_bytes(rng.bytes(-(-span.bit_length() // 8) + 1), "big") % span
