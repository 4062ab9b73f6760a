"""Runs a compiled step program on a packet: real answers of real accelerators, and a trace for the models.

An accelerator is a function that returns an `Answer`: a value, and the amounts that it used (memory reads). A
`Composite` is an accelerator that is a step program itself and calls others (section 4.1 of the paper: trie levels that
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
    """The answer of an accelerator, and the amounts that it used, by name: `{"memory": 3}`.

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
    """An executed call: the accelerator and the amounts that it used."""

    accelerator: str
    used: Mapping[str, int]


@dataclass(frozen=True)
class Passed:
    """An executed substep, with its calls."""

    name: str
    calls: tuple[Called, ...] = ()


@dataclass(frozen=True)
class Trace:
    """The execution of a program for one packet: its substeps in order, and the final context.

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
        return [call for substep in self.passed for call in substep.calls]

    def used(self) -> dict[str, int]:
        """Return the amounts that all calls used together, by name."""
        total: dict[str, int] = {}
        for call in self.calls:
            for name, amount in call.used.items():
                total[name] = total.get(name, 0) + amount
        return total


def execute(compiled: Compiled, accelerators: Mapping[str, Accelerator], **begins: Any) -> Trace:
    """Run a compiled program for one packet, and return the trace.

    compiled: the program. accelerators: name -> function that answers a call. begins: initial values of the context
    (`packet`, arguments).

    Raises ModelError for an undeclared jump, a program that runs more than MOST_STEPS substeps, or a name without a
    value.
    """
    return execute_in(Context(**begins), compiled, accelerators)


def execute_in(context: Context, compiled: Compiled, accelerators: Mapping[str, Accelerator]) -> Trace:
    """Run a program in a context; raises the same errors as `execute`."""
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
    """An accelerator that is a step program: `takes` names its arguments, the kept value `answer` is its answer."""

    def __init__(self, compiled: Compiled, takes: tuple[str, ...], accelerators: Mapping[str, Accelerator]) -> None:
        self.compiled, self.takes, self.accelerators = compiled, takes, accelerators

    def __call__(self, *arguments: Any) -> Answer:
        """Run the program; its amounts used are those of its calls."""
        trace = execute(self.compiled, self.accelerators, **dict(zip(self.takes, arguments, strict=True)))
        return Answer(trace.context.answer, trace.used())
