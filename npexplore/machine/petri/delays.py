"""Reads the delay of a transition: a number, or a distribution by name."""

import ast
from collections.abc import Mapping

import msgspec

from npexplore import syntax
from npexplore.errors import InputError, one_of, positive
from npexplore.machine.described.formula import plain
from npexplore.machine.petri.formulas import FUNCTIONS
from npexplore.machine.petri.measured import Measuring, NetUnits
from npexplore.machine.petri.values import quantity
from npexplore.rows.distributions import Deterministic, Distribution, Erlang, Exponential, Hyperexponential, Uniform
from npexplore.toml import in_words, typed

DELAYS: dict[str, type[Distribution]] = {
    "deterministic": Deterministic, "erlang": Erlang, "exponential": Exponential,
    "hyperexponential": Hyperexponential, "uniform": Uniform,
}  # fmt: skip


def read_delay(
    text: str, names: Mapping[str, float], units: NetUnits | None = None, *, zero: bool = False
) -> Distribution | None:
    """Return a delay: a number, or a distribution such as `erlang(2.5, 4)`; None for 0, if `zero` allows it.

    units: the units of the constants (None: no units). Raises InputError.
    """
    units = units or NetUnits()
    try:
        node = syntax.expression(text)
    except (SyntaxError, ValueError):
        node = None
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)) or node.func.id in FUNCTIONS:
        fixed = positive("a delay", float(units.checked(quantity(text, names, units), "the delay")), zero=zero)
        return Deterministic(fixed) if fixed else None
    kind = DELAYS[one_of("distribution", node.func.id, DELAYS)]
    fields = kind.__struct_fields__
    unnamed, named = Measuring({name: plain(value) for name, value in names.items()}, units.of).operands(node)
    unnamed = [units.checked(operand, "the delay") for operand in unnamed]
    named = {key: units.checked(operand, "the delay") for key, operand in named.items()}
    if len(unnamed) > len(fields):
        raise InputError(f"{node.func.id} has {', '.join(fields)}, got {text!r}")
    try:
        delay = typed({**dict(zip(fields, unnamed, strict=False)), **named, "distribution": node.func.id}, kind)
    except msgspec.ValidationError as error:
        raise InputError(f"{text!r}: {in_words(str(error))}") from None
    delay.check(node.func.id)
    return delay
