"""Recorded steps become rows of the event engine: visits, loops, branches, choices, forks, parallel parts."""

from __future__ import annotations

from npexplore._kernels import engine
from npexplore.errors import ModelError
from npexplore.machine.assembler import Assembler
from npexplore.machine.expressions import Condition, Operand, Variable
from npexplore.machine.program import (
    Body,
    Branch,
    Draw,
    Fork,
    Give,
    Let,
    Loop,
    Parallel,
    Priority,
    Take,
    Turn,
    Visit,
)
from npexplore.machine.rows import PROBABILITY_STEPS, Label

OPPOSITE = {"lt": "ge", "le": "gt", "eq": "ne", "ne": "eq", "ge": "lt", "gt": "le"}


def steps(asm: Assembler, body: Body) -> None:
    """Emit recorded steps."""
    with asm.scope():
        for step in body:
            _step(asm, step)


def _step(asm: Assembler, step: object) -> None:
    if isinstance(step, Visit):
        asm.place_name = f"{step.resource.name}.{step.method}"
        if step.result is not None:
            asm.register(step.result)
        with asm.scope():
            result = step.resource.emit(step.method, step.operands, asm)
            if step.result is not None and result is not None:
                asm.assign(step.result, result)
        asm.place_name = ""
    elif isinstance(step, Let):
        asm.let(step.variable, step.value)
    elif isinstance(step, Draw):
        asm.draw(step.variable, step.below, step.source)
    elif isinstance(step, Turn):
        asm.fetch_add(step.variable, asm.new_global(), 1)
        _, number = asm.operand(step.variable)
        asm.emit(engine.SET, (0, number), (step.below, 0), slot=number, x=engine.MOD)
        asm.limit(step.variable, step.below)
    elif isinstance(step, Loop):
        _loop(asm, step)
    elif isinstance(step, Branch):
        _branch(asm, step)
    elif isinstance(step, Take):
        _take(asm, step)
    elif isinstance(step, Give):
        asm.place_name = f"give of {step.holding.name}"
        asm.give(asm.kept(step.holding))
        asm.place_name = ""
    elif isinstance(step, Priority):
        with asm.scope():
            asm.emit(engine.SET, asm.operand(step.value), slot=0, x=engine.PRIORITY)
    elif isinstance(step, Fork) and step.moved is not None:
        before, after = step.moved
        with asm.fork(asm.kept(before)) as held:
            assert held is not None
            asm.keep(after, held)
            steps(asm, step.body)
    elif isinstance(step, Fork):
        with asm.fork():
            steps(asm, step.body)
    elif isinstance(step, Parallel):
        for body in step.bodies:
            with asm.fork(mode=engine.JOINED):
                steps(asm, body)
        asm.join()
    else:
        raise ModelError(f"step {step!r} is unknown to the assembler")


def _take(asm: Assembler, step: Take) -> None:
    asm.place_name = f"take of {', '.join(holding.name for holding in step.holdings)}"
    parts: list[tuple[str, Operand]] = []
    for holding in step.holdings:
        assert holding.server is not None
        parts.append((holding.server.name, holding.member))
    if len(parts) == 1:
        first = step.holdings[0]
        asm.keep(first, asm.take(*parts[0], first.units, first.key))
    else:
        for holding, held in zip(step.holdings, asm.take_all(parts), strict=True):
            asm.keep(holding, held)
    asm.place_name = ""


def _loop(asm: Assembler, step: Loop) -> None:
    begin, after = Label(), Label()
    with asm.scope():
        count = Variable("count")
        asm.let(count, step.count)
        asm.let(step.index, 0)
        asm.jump(after, step.index >= count)
        asm.place(begin)
        steps(asm, step.body)
        _, number = asm.operand(step.index)
        asm.emit(engine.SET, (0, number), (1, 0), slot=number, x=engine.ADD)
        asm.jump(begin, step.index < count)
        asm.place(after)


def _branch(asm: Assembler, step: Branch) -> None:
    otherwise, after = Label(), Label()
    if isinstance(step.condition, Condition):
        condition = step.condition
        asm.jump(otherwise, Condition(OPPOSITE[condition.name], condition.left, condition.right))
    else:
        with asm.scope():
            chance = Variable("chance")
            asm.draw(chance, PROBABILITY_STEPS, step.source)
            asm.jump(otherwise, chance >= round(step.condition * PROBABILITY_STEPS))
    steps(asm, step.then)
    if step.otherwise:
        asm.jump(after)
    asm.place(otherwise)
    if step.otherwise:
        steps(asm, step.otherwise)
        asm.place(after)
