"""Runs a step program on values that say who looks at them: what each step reads, writes, keeps and looks up.

    a byte is read      where it is compared, computed with or used as a key; to cut or join bytes only moves them
    a kept copy of header bits, looked at, reads those bits, as long as the header has not moved on
    a byte is written   where kept bytes hold another one than those they were made of; they move by how much their
                        first byte stands further on (a label popped)
    a table is read     where an object that is watched gives anything but a number, outside a call

One packet shows one way through a step: `uses` is the union over all packets that ran.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from reference.step_watching import BYTE, TracedBytes, Watched, watched_tuple

from npexplore.errors import ModelError
from npexplore.machine.step_programs.compiler import Compiled
from npexplore.machine.step_programs.execution import Accelerator, Context, Trace, execute_in
from npexplore.machine.step_programs.language import Kept, Run, Step


@dataclass
class Uses:
    """What a step does, over all packets so far. Bits and bytes are counted from the begin of their region.

    reads: bits by what was taken (a region itself, or a kept copy of its bits) and region, of the step itself;
    by_calls: those its accelerators look at. kept_read: names of kept values that it takes, `packet.length` among them;
    widths: of those it leaves, the most bits they took. writes: bytes by region; moves: bytes by which a region begins
    later. tables: what it looks into without a call. ran: how often it did.
    """

    reads: dict[tuple[str, str], set[int]] = field(default_factory=dict)
    by_calls: dict[tuple[str, str], set[int]] = field(default_factory=dict)
    kept_read: set[str] = field(default_factory=set)
    widths: dict[str, int] = field(default_factory=dict)
    writes: dict[str, set[int]] = field(default_factory=dict)
    moves: dict[str, set[int]] = field(default_factory=dict)
    tables: set[str] = field(default_factory=set)
    ran: int = 0


class Tracer:
    """Traces of one program; watched: classes whose attributes count as tables unless they are numbers.

    Raises ModelError from `run` for a kept value that its step does not declare, or not as wide, missing or placed as
    it is; the error names program, step and value.
    """

    def __init__(
        self, compiled: Compiled, accelerators: Mapping[str, Accelerator], watched: tuple[type, ...] = ()
    ) -> None:  # fmt: skip
        self.program, self.watched = compiled.program, watched
        self.uses = {name: Uses() for name in self.program.steps}
        self.in_call = False
        self._now = Uses()
        self._of: dict[str, tuple[Kept, int]] = {}  # by kept name: its declaration, and how often its region had moved
        self._moved: dict[str, int] = {}
        self._units = {name: self._calling(unit) for name, unit in accelerators.items()}
        steps = {name: replace(step, run=self._watching(step)) for name, step in self.program.steps.items()}
        program = type(self.program)(self.program.name, self.program.start, self.program.fields.values())
        program.steps = steps
        pieces = {
            name: tuple(replace(one, step=one.step and steps[name]) for one in compiled.pieces[name]) for name in steps
        }
        self._compiled = replace(compiled, program=program, pieces=pieces)

    def run(self, **begins: Any) -> Trace:
        """Run one packet, as `execute` does."""
        context = TracedContext()
        context._tracer, context._step = self, ""
        self._of, self._moved, self._begins = {}, {}, frozenset(begins)
        for name, value in begins.items():
            setattr(context, name, value)
        trace = execute_in(context, self._compiled, self._units)
        self.enter("")  # who looks at its end is no step
        return trace

    def touched(self, name: str, region: str, bits: Iterable[int]) -> None:
        """Note that bits of a region are looked at, as the region itself or as a kept copy with another name."""
        reads = self._now.by_calls if self.in_call else self._now.reads
        reads.setdefault((name, region), set()).update(bits)

    def looked_up(self, table: str) -> None:
        """Note that a table is looked into, unless that is in a call."""
        if not self.in_call:
            self._now.tables.add(table)

    def measured(self, region: str) -> None:
        """Note that a region's length is asked for."""
        self._now.kept_read.add(f"{region}.length")

    def enter(self, step: str) -> None:
        """What follows is a step's doing; the empty name: nobody's, as before the first."""
        self._now = self.uses[step] if step else Uses()
        self._now.ran += 1

    def taken(self, name: str, value: Any) -> Any:
        """Note that a kept value is taken; return it as what notes who looks at its parts."""
        if isinstance(value, TracedBytes):
            return value
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return watched_tuple(self, name, value)
        self._now.kept_read.add(name)
        if name in self._begins:
            for one in self.program.fields.values():
                if one.region == name:
                    self.touched(name, name, range(BYTE * one.first_byte, BYTE * one.first_byte + one.bits))
        elif name in self._of:
            entry, moved = self._of[name]
            if entry.region and moved == self._moved.get(entry.region, 0):
                self.touched(name, entry.region, range(entry.first_bit, entry.first_bit + entry.bits))
        elif value is not None:
            raise self._wrong(name, "is taken, but no step before declares that it keeps it")
        return value

    def leaves(self, context: TracedContext, step: str, name: str, value: Any) -> Any:
        """Note that a step keeps a value, hold it to what is declared, and return it as what is kept."""
        if isinstance(value, bytes):
            self._region(name, value)
            return TracedBytes.over(self, name, value)
        if not step or name in self._begins:
            return value
        declared = [entry for entry in self.program.steps[step].keeps if entry.name.split(".")[0] == name]
        parts = value if isinstance(value, tuple) and not hasattr(value, "_fields") else ()
        for part in parts:
            if isinstance(part, TracedBytes):
                self._written(name, part, 0)
        if value is None and not any(entry.missing for entry in declared):
            raise self._wrong(name, "is missing, but not declared as what may be")
        for entry in declared:
            self._hold(context, entry, value)
            self._of[entry.name] = entry, self._moved.get(entry.region, 0)
        if not declared:
            for known in [one for one in self._of if one.split(".")[0] == name]:
                del self._of[known]
        return value

    def _hold(self, context: TracedContext, entry: Kept, value: Any) -> None:
        for part in entry.name.split(".")[1:]:
            value = None if value is None else getattr(value, part)
        if value is None:
            return
        bits = self._width(-(-int(value) // entry.unit) if isinstance(value, int) else value)
        self._now.widths[entry.name] = max(bits, self._now.widths.get(entry.name, 0))
        if bits > entry.bits:
            raise self._wrong(entry.name, f"has {bits} bits, but is declared with {entry.bits}")
        if entry.region:
            held = bytes.__getitem__(context.__dict__[entry.region], slice(None))
            whole = int.from_bytes(held, "big") >> max(0, BYTE * len(held) - entry.first_bit - entry.bits)
            there = (whole & (1 << entry.bits) - 1) * entry.unit
            if BYTE * len(held) >= entry.first_bit + entry.bits and there != value:
                place = f"bits {entry.first_bit} to {entry.first_bit + entry.bits - 1} of {entry.region!r}"
                raise self._wrong(entry.name, f"is {int(value)}, but {place}, its declared place, hold {there}")

    def _region(self, name: str, value: bytes) -> None:
        if isinstance(value, TracedBytes) and value.region == name:
            shift = next((at - k for k, at in enumerate(value.origin) if at >= 0), 0)
            if shift:
                self._now.moves.setdefault(name, set()).add(shift)
                self._moved[name] = self._moved.get(name, 0) + 1
            self._written(name, value, shift)

    def _written(self, name: str, value: TracedBytes, shift: int) -> None:
        same = value.region == name
        changed = {k for k, at in enumerate(value.origin) if (at != k + shift if same else at < 0)}
        if changed:
            self._now.writes.setdefault(name, set()).update(changed)

    def _width(self, value: Any) -> int:
        """Return the bits of a value; of bytes of the packet none, since they stand in the scratchpad."""
        if isinstance(value, int):
            return max(1, int(value).bit_length())
        if isinstance(value, str):  # the name of a step
            return (len(self.program.steps) - 1).bit_length()
        if isinstance(value, tuple):
            return sum(map(self._width, value))
        return BYTE * len(value) if isinstance(value, bytes) and not isinstance(value, TracedBytes) else 0

    def _wrong(self, name: str, what: str) -> ModelError:
        step = next((step for step, uses in self.uses.items() if uses is self._now), "")
        return ModelError(f"program {self.program.name!r}, step {step!r}: kept {name!r} {what}")

    def _calling(self, unit: Accelerator) -> Accelerator:
        def call(*arguments: Any) -> Any:
            self.in_call = True
            try:
                return unit(*arguments)
            finally:
                self.in_call = False

        return call

    def _watching(self, step: Step) -> Run:
        """Return a step's body with its tables watched: what it closes over, and collections of its module."""
        whole: Any = step.run
        run, bound = (whole.func, whole.args) if isinstance(whole, partial) else (whole, ())
        assert isinstance(run, types.FunctionType)
        names = [
            name for name in run.__code__.co_names if isinstance(run.__globals__.get(name), (dict, set, frozenset))
        ]
        cells = tuple(types.CellType(self.watch(cell.cell_contents)) for cell in run.__closure__ or ())
        body = types.FunctionType(run.__code__, run.__globals__, run.__name__, run.__defaults__, cells)
        arguments = [self.watch(one) for one in bound]

        def traced(context: Context) -> str | None:
            for name in names:
                self.looked_up(name)
            return body(*arguments, context)  # type: ignore[no-any-return]

        return traced

    def watch(self, value: Any) -> Any:
        """Return a value, watched if it is of a watched class."""
        return Watched(self, value) if isinstance(value, self.watched) else value


class TracedContext(Context):
    """A context whose values are noted as they come and go."""

    _tracer: Tracer

    def __getattribute__(self, name: str) -> Any:
        """Return a kept value."""
        value = super().__getattribute__(name)
        return value if name[0] == "_" or name == "read" else self._tracer.taken(name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        """Keep a value."""
        if name[0] != "_":
            value = self._tracer.leaves(self, self._step, name, value)
        super().__setattr__(name, value)
        if name == "_step":
            self._tracer.enter(value)
