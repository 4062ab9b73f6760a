"""What steps declare against what they do: disagreements, and how many steps there are by what is derived.

    undeclared   a step looks at header bits of none of the fields it reads: of the region, or by a kept copy of them
    call         its accelerators look at bits beyond the fields that the step reads
    idle         a step reads a field of which neither it nor its calls look at a bit

Declared fields decide where `compile_steps` splits a step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

from reference.step_tracing import Uses
from reference.step_watching import BYTE

from npexplore.errors import ModelError
from npexplore.machine.step_programs.language import Field, StepProgram

UNDECLARED, CALL, IDLE = "undeclared", "call", "idle"
Key = tuple[str, str, str]
TOLD = {
    UNDECLARED: "reads {name!r} ({bits} of {region!r}), which no field that it declares holds",
    CALL: "its calls look at {bits} of {region!r}, which no field that it declares holds",
    IDLE: "declares that it reads field {name!r}, but neither it nor its calls look at a bit of it",
}  # fmt: skip


@dataclass(frozen=True)
class Disagreement:
    """One declaration that is not what a step does; name: the kept value, region or field."""

    program: str
    step: str
    kind: str
    name: str
    region: str
    bits: tuple[int, ...] = ()

    @property
    def key(self) -> Key:
        """What it is known by: step, kind, name."""
        return self.step, self.kind, self.name

    def __str__(self) -> str:
        """Return a line."""
        text = TOLD[self.kind].format(name=self.name, region=self.region, bits=f"bits {ranges_text(self.bits)}")
        return f"program {self.program!r}, step {self.step!r}: {text}"


def ranges_text(numbers: Iterable[int]) -> str:
    """Return numbers as text, in runs: `4-7, 96-159`."""
    runs = [list(run) for _, run in groupby(enumerate(sorted(numbers)), key=lambda pair: pair[1] - pair[0])]
    return ", ".join(str(run[0][1]) if len(run) == 1 else f"{run[0][1]}-{run[-1][1]}" for run in runs)


def field_bits(field: Field) -> set[int]:
    """Return the bits of a field in its region; none where its region is not told."""
    return set(range(BYTE * field.first_byte, BYTE * field.first_byte + field.bits)) if field.region else set()


def disagreements(program: StepProgram, uses: Mapping[str, Uses]) -> tuple[Disagreement, ...]:
    """Return where steps do not do what they declare, in the order of the text. Steps that never ran say nothing."""
    differing: list[Disagreement] = []
    for step in program.steps.values():
        done = uses[step.name]
        fields = [program.fields[name] for name in step.reads]
        for kind, reads in ((UNDECLARED, done.reads), (CALL, done.by_calls)):
            for (name, region), bits in sorted(reads.items()):
                own = set[int]().union(*(field_bits(field) for field in fields if field.region == region))
                if bits - own:
                    differing.append(
                        Disagreement(program.name, step.name, kind, name, region, tuple(sorted(bits - own)))
                    )
        differing += [
            Disagreement(program.name, step.name, IDLE, field.name, field.region)
            for field in fields
            if field.region and done.ran and not field_bits(field) & _bits(field.region, done.reads, done.by_calls)
        ]
    return tuple(differing)


def _bits(region: str, *reads: Mapping[tuple[str, str], set[int]]) -> set[int]:
    """Return the bits of a region that are looked at, by whatever name."""
    return {bit for one in reads for (_, of), bits in one.items() if of == region for bit in bits}


def check_declared(
    program: StepProgram, uses: Mapping[str, Uses], known: Collection[Key] = (),
    tables: Mapping[str, Collection[str]] | None = None,
) -> tuple[Disagreement, ...]:  # fmt: skip
    """Return the disagreements, all of them known; raises ModelError for one that is not, and for one known in vain.

    known: by step, kind and name, what is left as it is. tables: by step, those it may look into without a call.
    """
    listed = disagreements(program, uses)
    for one in listed:
        if one.key not in known:
            raise ModelError(str(one))
    vain = sorted(set(known) - {one.key for one in listed})
    if vain:
        step, kind, name = vain[0]
        raise ModelError(f"program {program.name!r}, step {step!r}: {name!r} is listed as {kind}, but is not")
    for step in program.steps:
        for table in sorted(uses[step].tables ^ set((tables or {}).get(step, ()))):
            what = "looks into {!r} without a call" if table in uses[step].tables else "never looks into {!r}"
            raise ModelError(
                f"program {program.name!r}, step {step!r}: {what.format(table)}, against its list of tables"
            )
    return listed
