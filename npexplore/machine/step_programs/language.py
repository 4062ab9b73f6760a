"""The language of step programs: each step calls accelerators, computes with their replies, names the next step.

    program = StepProgram("router", start="dispatch", fields=[Field("header", 160, lambda c: c.packet[14:34])])

    @program.step(reads=["header"], calls=[Call("class_", "lookup", takes=["destination"])], goes=["emit", "exception"])
    def classify(c):
        return "emit" if c.class_ is not None else "exception"

Calls of one step are independent of each other and are issued together; their replies, and whatever earlier steps kept
in the context, are there when the step computes. Which fields a step reads, which accelerators it calls and where it
may go is declared, so that the compiler sees it without running anything (sections 3.1, 3.3 of the paper).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from npexplore.errors import ModelError, UnknownNameError

if TYPE_CHECKING:
    from npexplore.machine.step_programs.execution import Context

Run = Callable[["Context"], str | None]


@dataclass(frozen=True)
class Field:
    """A part of the header in the scratchpad: so many bits; `of` takes it out of the packet in a context."""

    name: str
    bits: int
    of: Callable[[Context], Any]

    def __post_init__(self) -> None:
        if self.bits < 1:
            raise ModelError(f"field {self.name!r} must have at least 1 bit, got {self.bits}")


@dataclass(frozen=True)
class Call:
    """A call of an accelerator: the name its reply has in the context, and what it is called with.

    takes: names of fields or of what the context keeps. when: names a kept value; the call is made where it is true.
    """

    reply: str
    accelerator: str
    takes: Sequence[str] = ()
    when: str | None = None


@dataclass(frozen=True)
class Step:
    """A step: fields read through the scratchpad's port, calls, next steps it may name (none: the program ends here).

    run: computes, and returns the name of the next step, or None at the end.
    """

    name: str
    run: Run
    reads: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    goes: tuple[str, ...] = ()


class StepProgram:
    """Steps by name, in the order in which they were written, and the one to begin with."""

    def __init__(self, name: str, start: str, fields: Iterable[Field] = ()) -> None:
        self.name, self.start = name, start
        self.fields = {field.name: field for field in fields}
        self.steps: dict[str, Step] = {}

    def step(
        self, reads: Sequence[str] = (), calls: Sequence[Call] = (), goes: Sequence[str] = ()
    ) -> Callable[[Run], Run]:
        """Add the decorated function as a step of its own name."""

        def add(run: Run) -> Run:
            self.add(Step(run.__name__, run, tuple(reads), tuple(calls), tuple(goes)))
            return run

        return add

    def add(self, step: Step) -> None:
        """Add a step; raises ModelError if there is one of its name, or two replies share one."""
        if step.name in self.steps:
            raise ModelError(f"program {self.name!r}: step {step.name!r} is there already")
        replies = [call.reply for call in step.calls]
        if len(set(replies)) < len(replies):
            place = f"program {self.name!r}, step {step.name!r}"
            raise ModelError(f"{place}: replies must have different names, got {replies}")
        for field in step.reads:
            if field not in self.fields:
                raise UnknownNameError(f"field that step {step.name!r} reads", field, self.fields)
        self.steps[step.name] = step

    def with_steps(self, *others: StepProgram) -> StepProgram:
        """Return the program with the steps and fields of others behind its own; raises ModelError for a name twice."""
        joined = StepProgram(self.name, self.start, [*self.fields.values()])
        for program in (self, *others):
            joined.fields.update(program.fields)
            for step in program.steps.values():
                joined.add(step)
        return joined

    def check(self) -> None:
        """Raise UnknownNameError for a next step that is not there, ModelError for steps that nothing leads to."""
        if self.start not in self.steps:
            raise UnknownNameError(f"first step of program {self.name!r}", self.start, self.steps)
        for step in self.steps.values():
            for name in step.goes:
                if name not in self.steps:
                    raise UnknownNameError(f"step that {step.name!r} may go to", name, self.steps)
        found, todo = {self.start}, [self.start]
        while todo:
            for name in self.steps[todo.pop()].goes:
                if name not in found:
                    found.add(name)
                    todo.append(name)
        lost = [name for name in self.steps if name not in found]
        if lost:
            raise ModelError(f"program {self.name!r}: no step leads to {', '.join(lost)}")
