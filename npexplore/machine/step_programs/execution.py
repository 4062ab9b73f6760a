"""Runs a compiled step program on a packet: real answers of real accelerators, and a trace for the models.

An accelerator is a function that returns an `Answer`: a value, and how much it used of what (memory reads). A
`Composite` is one that is written as a step program itself and calls others (section 4.1 of the paper: trie levels that
read a memory).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from npexplore.display import ShownByArguments
from npexplore.errors import ModelError, UnknownNameError
from npexplore.machine.step_programs.compiler import Compiled
from npexplore.machine.step_programs.language import Call
from npexplore.machine.step_programs.language import Context as Context
from npexplore.records import content_hash

MOST_STEPS = 10_000


@dataclass(frozen=True)
class Answer:
    """What an accelerator answers, and what it used: amounts by name, as `{"memory": 3}`.

    Example:
        >>> from npexplore.step_programs import Answer
        >>> Answer(7, used={"memory": 3})
        Answer(value=7, used={'memory': 3})
    """

    __hash__ = content_hash

    value: Any
    used: Mapping[str, int] = field(default_factory=dict)


Accelerator = Callable[..., Answer]


@dataclass(frozen=True)
class Called:
    """A call that was made: the accelerator and what it used."""

    accelerator: str
    used: Mapping[str, int]


@dataclass(frozen=True)
class Passed:
    """A substep that was executed, with its calls."""

    name: str
    calls: tuple[Called, ...] = ()


@dataclass(frozen=True)
class Trace:
    """What a program did to a packet: its substeps in order, and the context at the end.

    Example:
        >>> from npexplore.step_programs import Trace
        >>> Trace((), None).passed
        ()
    """

    passed: tuple[Passed, ...]
    context: Context = field(compare=False, repr=False)

    @property
    def calls(self) -> list[Called]:
        """All calls in order."""
        return [call for one in self.passed for call in one.calls]

    def used(self) -> dict[str, int]:
        """Return what all calls used together."""
        total: dict[str, int] = {}
        for call in self.calls:
            for name, amount in call.used.items():
                total[name] = total.get(name, 0) + amount
        return total


def execute(compiled: Compiled, accelerators: Mapping[str, Accelerator], **begins: Any) -> Trace:
    """Run a compiled program for one packet, and return the trace.

    compiled: the program. accelerators: name -> function that answers a call. begins: what the context begins with
    (`packet`, arguments).

    Raises ModelError for a jump that is not declared, no end after MOST_STEPS steps, or a name that has no value yet.
    """
    return execute_in(Context(**begins), compiled, accelerators)


def execute_in(context: Context, compiled: Compiled, accelerators: Mapping[str, Accelerator]) -> Trace:
    """Run a program in a context; it raises as `execute`."""
    program = compiled.program
    context._fields = {name: field.take for name, field in program.fields.items()}
    passed: list[Passed] = []
    name: str | None = program.start
    while name is not None:
        if len(passed) > MOST_STEPS:
            raise ModelError(f"program {program.name!r} does not end: {MOST_STEPS} steps, the last one {name!r}")
        context._step, context._declared = name, program.steps[name].reads
        for piece in compiled.pieces[name]:
            calls = [call for call in piece.calls if _is_made(call, context)]
            passed.append(
                Passed(piece.name, tuple(_call(program.name, call, context, accelerators) for call in calls))
            )  # fmt: skip
        step = program.steps[name]
        following = step.run(context)
        if following is None and step.goes:
            raise ModelError(f"program {program.name!r}: step {name!r} named no next step of {', '.join(step.goes)}")
        if following is not None and following not in step.goes:
            raise ModelError(f"program {program.name!r}: step {name!r} does not declare that it goes to {following!r}")
        name = following
    return Trace(tuple(passed), context)


def _is_made(call: Call, context: Context) -> bool:
    if call.when is None or bool(getattr(context, call.when, False)):
        return True
    setattr(context, call.reply, None)
    return False


def _call(program: str, call: Call, context: Context, accelerators: Mapping[str, Accelerator]) -> Called:
    if call.accelerator not in accelerators:
        raise UnknownNameError(f"accelerator of program {program!r}", call.accelerator, accelerators)
    arguments = []
    for name in call.takes:
        if name in context._fields:
            arguments.append(context.read(name))
        elif hasattr(context, name):
            arguments.append(getattr(context, name))
        else:
            raise ModelError(f"program {program!r}: call {call.reply!r} takes {name!r}, which no step before has kept")
    answer = accelerators[call.accelerator](*arguments)
    if not isinstance(answer, Answer):
        raise ModelError(f"program {program!r}: accelerator {call.accelerator!r} must return an Answer, got {answer!r}")
    setattr(context, call.reply, answer.value)
    return Called(call.accelerator, answer.used)


class Composite(ShownByArguments):
    """An accelerator that is a step program: its arguments go by `takes`, its answer is what it keeps as `answer`."""

    def __init__(self, compiled: Compiled, takes: tuple[str, ...], accelerators: Mapping[str, Accelerator]) -> None:
        self.compiled, self.takes, self.accelerators = compiled, takes, accelerators

    def __call__(self, *arguments: Any) -> Answer:
        """Run the program; what its own calls used is what it used."""
        trace = execute(self.compiled, self.accelerators, **dict(zip(self.takes, arguments, strict=True)))
        return Answer(trace.context.answer, trace.used())
