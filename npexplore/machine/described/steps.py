"""Translates a program given as a list of steps into the lines of described/program.py.

    ["hash", "sram.read(bytes=8)", {loop = 3, steps = ["dram"]}, {fork = ["log"]}]

    "NAME", "NAME.VISIT", "NAME.VISIT(operand=value)"      a visit; the rest has the kind's defaults
    {loop = 3, steps = [...]}                              repeats the steps (a number, or a formula of the packet)
    {branch = 0.2, steps = [...], otherwise = [...]}       the steps with this probability
    {fork = [...]}                                         concurrent steps, for which the packet does not wait
    {hold = "NAME", steps = [...]}                         the steps while a lock, a buffer or a server's unit is held

The value of an operand is a number, a formula of the packet (packet.packet_bytes), or a choice of a member: "random",
"round_robin", or "hot:0.5" (the first member with this probability, else any of the others).
"""

import ast
from collections.abc import Mapping, Sequence
from textwrap import indent
from typing import Any

from npexplore import syntax
from npexplore.errors import InputError, one_of
from npexplore.machine.described.defaults import choices, default_of, kind_of
from npexplore.machine.described.examples import DEFAULTS
from npexplore.machine.resources import BufferPool, Lock, Policer
from npexplore.machine.resources.base import OperandValue, Resource

BLOCKS = {"loop": {"loop", "steps"}, "branch": {"branch", "steps", "otherwise"}, "fork": {"fork"},
          "hold": {"hold", "steps"}}  # fmt: skip
DRAWN = ("random", "round_robin", "hot")


def program_text(
    steps: Sequence[Any],
    resources: Mapping[str, Resource],
    operands: Mapping[str, Mapping[str, OperandValue]] | None = None,
) -> str:  # fmt: skip
    """Return the lines of a program with these steps; raises InputError for an invalid step.

    operands: by resource, values that replace the defaults of its kind.
    """
    return _Steps(resources, operands or {}).block(steps, "steps")


class _Steps:
    """Translates steps that visit the resources of one machine."""

    def __init__(self, resources: Mapping[str, Resource], operands: Mapping[str, Mapping[str, OperandValue]]) -> None:
        self.resources, self.operands, self.names = resources, operands, 0

    def block(self, steps: Any, place: str) -> str:
        """Return the lines of a list of steps."""
        if not isinstance(steps, list | tuple) or not steps:
            raise InputError(
                f'{place} must be a list of steps such as "NAME" or {{loop = 3, steps = [...]}}, got {steps!r}'
            )
        return "\n".join(self.step(step, f"{place}[{k}]") for k, step in enumerate(steps))

    def step(self, step: Any, place: str) -> str:
        """Return the lines of one step."""
        if isinstance(step, str):
            return self.visit(step, place)
        if not isinstance(step, Mapping):
            raise InputError(f"{place} must be a text or a table, got {step!r}")
        kind = next((name for name in BLOCKS if name in step), None)
        if kind is None:
            raise InputError(f"{place} needs one of {', '.join(BLOCKS)}, got {', '.join(map(str, step)) or 'nothing'}")
        for key in step:
            one_of(f"{place}: key of a {kind}", str(key), BLOCKS[kind])
        if kind == "fork":
            return f"with m.fork():\n{indent(self.block(step['fork'], f'{place}.fork'), '    ')}"
        inside = self.block(step.get("steps"), f"{place}.steps")
        if kind == "hold":
            return self.hold(str(step["hold"]), inside, place)
        lines = f"with m.{kind}({step[kind]}):\n{indent(inside, '    ')}"
        if "otherwise" in step:
            lines += f"\nwith m.otherwise():\n{indent(self.block(step['otherwise'], f'{place}.otherwise'), '    ')}"
        return lines

    def hold(self, name: str, inside: str, place: str) -> str:
        """Return lines during which a lock, one of a pool's buffers, or a unit of a server is held."""
        resource = self.resource(name, place)
        if isinstance(resource, Lock):
            return f"m.{name}.acquire()\n{inside}\nm.{name}.release()"
        if isinstance(resource, BufferPool):
            return f"m.{name}.take(count=1)\n{inside}\nm.{name}.give(count=1)"
        held = self.new("held")
        return f"{held} = m.take({name!r})\n{inside}\nm.give({held})"

    def visit(self, text: str, place: str) -> str:
        """Return the lines of a visit."""
        name, method, stated = _parsed(text, place)
        resource = self.resource(name, place)
        usual = default_of(resource) if method is None else DEFAULTS.get(kind_of(resource), resource.EXAMPLE)
        method = one_of(f"{place}: visit of {name!r}", method or usual.visit, resource.VISITS)
        if resource.VISITS[method] == resource.VISITS.get(usual.visit):  # same operands, as of a write and a read
            stated = {**usual.operands, **self.operands.get(name, {}), **stated}
        for operand in stated:
            one_of(f"{place}: operand of {name}.{method}", operand, resource.VISITS[method])
        if isinstance(resource, Policer) and method == "police":
            admitted = self.new("admitted")
            return (f"{admitted} = m.{name}.police(flow={stated.get('flow', 0)})\n"
                    f"with m.branch({admitted} == 0):\n    m.{name}.drop()")  # fmt: skip
        return self.drawn(resource, method, stated, place)

    def drawn(self, resource: Resource, method: str, said: Mapping[str, OperandValue], place: str) -> str:
        """Return the lines of a visit, preceded by the random choices of its members."""
        draws, values, hot = list[str](), dict[str, str](), list[tuple[str, float, int]]()
        for operand, value in said.items():
            choice, _, share = str(value).partition(":")
            if choice not in DRAWN:
                values[operand] = str(value)
                continue
            number, name = choices(resource, operand), self.new(operand)
            if choice == "hot":
                hot.append((operand, _share(share, value, f"{place}: {operand}"), number))
                continue
            word = "turn" if choice == "round_robin" else "draw"
            draws.append(f'{name} = m.{word}({number}, "{resource.name}.{operand}")')
            values[operand] = name

        def call(chosen: Mapping[str, str]) -> str:
            return f"m.{resource.name}.{method}({', '.join(f'{k}={v}' for k, v in chosen.items())})"

        if not hot:
            return "\n".join([*draws, call(values)])
        if len(hot) > 1:
            raise InputError(f"{place}: only one operand can be hot, got {', '.join(name for name, _, _ in hot)}")
        operand, part, number = hot[0]
        even = 1 / number
        if part < even:
            raise InputError(f"{place}: {operand} hot:{part:g} must be at least 1 of {number}, {even:g}")
        extra = (part - even) / (1 - even) if number > 1 else 1.0  # probability of the first beyond the even choice
        drawn = self.new(operand)
        return "\n".join(
            [
                *draws,
                f'with m.branch({extra:.12g}, "hot {resource.name}"):',
                f"    {call({**values, operand: '0'})}",
                "with m.otherwise():",
                f'    {drawn} = m.draw({number}, "{resource.name}.{operand}")',
                f"    {call({**values, operand: drawn})}",
            ]
        )

    def new(self, name: str) -> str:
        """Return a name that no other line assigns."""
        self.names += 1
        return f"{name}_{self.names}"

    def resource(self, name: str, place: str) -> Resource:
        """Return a resource by name; raises UnknownNameError."""
        return self.resources[one_of(f"{place}: resource", name, self.resources)]


def _share(text: str, value: object, place: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise InputError(f"{place} must be hot:SHARE with a share of the visits from 0 to 1, got {value!r}")
    return share


def _parsed(text: str, place: str) -> tuple[str, str | None, dict[str, OperandValue]]:
    """Return the resource name, the visit (None: the default) and the operands of a step."""
    form = f'{place} must be "NAME", "NAME.VISIT" or "NAME.VISIT(operand=value)", got {text!r}'
    try:
        (line,) = syntax.statements(text)
    except (SyntaxError, ValueError):
        raise InputError(form) from None
    node = line.value if isinstance(line, ast.Expr) else None
    operands: dict[str, OperandValue] = {}
    if isinstance(node, ast.Call):
        if node.args or any(word.arg is None for word in node.keywords):
            raise InputError(f"{place}: operands go by name, as in NAME.VISIT(bytes=8), got {text!r}")
        for word in node.keywords:
            value = word.value.value if isinstance(word.value, ast.Constant) else ast.unparse(word.value)
            operands[str(word.arg)] = value if isinstance(value, int | float | str) else str(value)
        node = node.func
    match node:
        case ast.Name(id=name):
            return name, None, operands
        case ast.Attribute(value=ast.Name(id=name), attr=method):
            return name, method, operands
    raise InputError(form)
