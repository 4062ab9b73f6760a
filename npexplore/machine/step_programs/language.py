"""The language of step programs: each step calls accelerators, computes with their replies, and names the next step.

    program = StepProgram("router", start="dispatch", fields=[Field("header", 160, lambda c: c.packet[14:34])])

    @program.step(reads=["header"], calls=[Call("class_", "lookup", takes=["destination"])], goes=["emit", "exception"])
    def classify(c):
        return "emit" if c.class_ is not None else "exception"

Calls of one step are independent of each other and are issued together. The step computes with their replies and with
the values that earlier steps kept in the context. Each step declares the fields that it reads, its calls and its
possible next steps, so that the compiler needs no run (sections 3.1, 3.3 of the paper).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from npexplore.display import ShownByArguments
from npexplore.errors import ModelError, one_of
from npexplore.records import content_hash


class Context(SimpleNamespace):
    """A thread's context: the packet, replies, and values that steps keep. `read` returns a declared header field.

    Example:
        >>> from npexplore.step_programs import Context
        >>> len(Context(packet=bytes(20)).packet)
        20
    """

    _fields: Mapping[str, Callable[[Context], Any]]
    _declared: tuple[str, ...]
    _step: str

    def read(self, name: str) -> Any:
        """Return a field of the header; raises ModelError if the step does not declare the field."""
        if name not in self._declared:
            raise ModelError(f"field {name!r} is read by a step that does not declare it (it has {self._declared})")
        return self._fields[name](self)


Run = Callable[[Context], str | None]


@dataclass(frozen=True)
class Field:
    """A part of the header in the scratchpad: its number of bits and its position.

    region: the kept value that contains it (`packet`), from byte `first_byte` on ("": unknown). of: returns the value
    of the field for steps and calls, if that is not the bytes in the region.

    Example:
        >>> from npexplore.step_programs import Field
        >>> Field("ttl", 8, region="ip", first_byte=8).bits
        8
    """

    name: str
    bits: int
    of: Callable[[Context], Any] | None = None
    region: str = ""
    first_byte: int = 0

    def __post_init__(self) -> None:
        if self.bits < 1:
            raise ModelError(f"field {self.name!r} must have at least 1 bit, got {self.bits}")
        if self.first_byte < 0:
            raise ModelError(f"field {self.name!r} must begin at byte 0 or later, got {self.first_byte}")
        if self.of is None and not self.region:
            raise ModelError(f"field {self.name!r} must have a region or say what it is of, got neither")

    def take(self, context: Context) -> Any:
        """Return the field of a context's packet."""
        if self.of is not None:
            return self.of(context)
        value = getattr(context, self.region)
        return value[self.first_byte : self.first_byte - (-self.bits // 8)] if isinstance(value, bytes) else value


@dataclass(frozen=True)
class Kept:
    """A value that a step keeps for later steps: its name (`header.source` of a structure), and its size in bits.

    missing: whether it may be None. region: for a copy of header bits, the kept value that contains them, from bit
    `first_bit` on; the value is `unit` times the number there.

    Example:
        >>> from npexplore.step_programs import Kept
        >>> Kept("next_hop", bits=16)
        Kept(name='next_hop', bits=16, missing=False, region='', first_bit=0, unit=1)
    """

    name: str
    bits: int
    missing: bool = False
    region: str = ""
    first_bit: int = 0
    unit: int = 1

    def __post_init__(self) -> None:
        if self.bits < 1 or self.first_bit < 0 or self.unit < 1:
            got = f"{self.bits}, {self.first_bit} and {self.unit}"
            raise ModelError(f"kept {self.name!r} must have bits from 1, a first bit from 0, a unit from 1, got {got}")


@dataclass(frozen=True)
class Call:
    """A call of an accelerator: the name of its reply in the context, and its arguments.

    takes: names of fields or kept values. when: the name of a kept value; the call is made only if that is true.

    Example:
        >>> from npexplore.step_programs import Call
        >>> Call("route", "lookup", takes=("destination",))
        Call(reply='route', accelerator='lookup', takes=('destination',), when=None)
    """

    __hash__ = content_hash

    reply: str
    accelerator: str
    takes: Sequence[str] = ()
    when: str | None = None


@dataclass(frozen=True)
class Step:
    """A step: the fields that it reads from the scratchpad, its calls, its possible next steps (none: the end).

    run: computes, and returns the name of the next step, or None at the end. keeps: values for later steps in the
    context, including replies.

    Example:
        >>> from npexplore.step_programs import Step
        >>> Step("drop", lambda context: None).goes
        ()
    """

    name: str
    run: Run
    reads: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    goes: tuple[str, ...] = ()
    keeps: tuple[Kept, ...] = ()


class StepProgram(ShownByArguments):
    """Steps by name, in program order, and the name of the first step.

    Example:
        >>> from npexplore.step_programs import Field, StepProgram
        >>> StepProgram("forward", "parse", [Field("ttl", 8, region="ip")]).start
        'parse'
    """

    def __init__(self, name: str, start: str, fields: Iterable[Field] = ()) -> None:
        self.name, self.start = name, start
        self.fields = {field.name: field for field in fields}
        self.steps: dict[str, Step] = {}

    def step(
        self, reads: Sequence[str] = (), calls: Sequence[Call] = (), goes: Sequence[str] = (),
        keeps: Sequence[Kept] = (),
    ) -> Callable[[Run], Run]:  # fmt: skip
        """Return a decorator that adds a function as a step with the function's name."""

        def add(run: Run) -> Run:
            self.add(Step(run.__name__, run, tuple(reads), tuple(calls), tuple(goes), tuple(keeps)))
            return run

        return add

    def add(self, step: Step) -> None:
        """Add a step; raises ModelError if its name exists, or if two replies have the same name."""
        if step.name in self.steps:
            raise ModelError(f"program {self.name!r}: step {step.name!r} is there already")
        replies = [call.reply for call in step.calls]
        if len(set(replies)) < len(replies):
            place = f"program {self.name!r}, step {step.name!r}"
            raise ModelError(f"{place}: replies must have different names, got {replies}")
        for field in step.reads:
            one_of(f"field that step {step.name!r} reads", field, self.fields)
        self.steps[step.name] = step

    def with_steps(self, *others: StepProgram) -> StepProgram:
        """Return the program with the steps and fields of others appended; raises ModelError for a duplicate name."""
        joined = StepProgram(self.name, self.start, [*self.fields.values()])
        for program in (self, *others):
            joined.fields.update(program.fields)
            for step in program.steps.values():
                joined.add(step)
        return joined

    def check(self) -> None:
        """Raise UnknownNameError for a next step that does not exist, ModelError for unreachable steps."""
        one_of(f"first step of program {self.name!r}", self.start, self.steps)
        for step in self.steps.values():
            for name in step.goes:
                one_of(f"step that {step.name!r} may go to", name, self.steps)
        reached, todo = {self.start}, [self.start]
        while todo:
            for name in self.steps[todo.pop()].goes:
                if name not in reached:
                    reached.add(name)
                    todo.append(name)
        lost = [name for name in self.steps if name not in reached]
        if lost:
            raise ModelError(f"program {self.name!r}: no step leads to {', '.join(lost)}")
