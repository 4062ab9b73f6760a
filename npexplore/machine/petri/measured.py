"""Units in a net: constants and delays with a unit are quantities, checked like formulas of machine files.

If all numbers of a net are plain, its unit of time is arbitrary. If constants come from a machine's parameters or are
texts such as `40 ns`, delays must be times, rates frequencies, and all of one unit (npexplore/dimensions.py).
"""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial, reduce
from math import isclose
from typing import Any

from npexplore.dimensions import RATIO_TOLERANCE, Quantity, Unit, between, unit_named, value_of
from npexplore.errors import InputError
from npexplore.machine.described.formula import Formulas
from npexplore.machine.petri.formulas import FUNCTIONS, Evaluator, Places
from npexplore.units import split

NOWHERE = Places({}, {})
OPEN = frozenset({"p", "t"})  # names with attributes: the machine's parameters, and its DRAM timing in seconds
LIKE = {1: "a time", -1: "a frequency or rate"}


class Measuring(Evaluator):
    """Evaluates formulas over constants with their units; units: name of a constant -> its unit."""

    MEASURES = True

    def __init__(self, names: Mapping[str, Any], units: Mapping[str, Unit]) -> None:
        super().__init__(names, NOWHERE, open_names=OPEN & set(names))
        self.units = units

    def value(self, node: ast.expr) -> Any:
        """Return the value of an expression, a quantity if it has a unit."""
        match node:
            case ast.Name(id=name) if name in self.units:
                return Quantity(self.names[name], self.units[name], name)
            case ast.IfExp() | ast.BinOp():
                return Formulas.value(self, node)
            case _:
                return super().value(node)

    def call(self, node: ast.Call) -> Any:
        """Return the value of a call of one of FUNCTIONS."""
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        unnamed, named = self.operands(node) if name in FUNCTIONS else ([], {})
        if named or not any(isinstance(operand, Quantity) for operand in unnamed):
            return super().call(node)
        function: Callable[..., Any] = FUNCTIONS[name]
        if len(unnamed) == 1:
            return Quantity(function(value_of(unnamed[0])), unnamed[0].unit)
        return reduce(partial(between, function), unnamed)


@dataclass
class NetUnits:
    """The units of a net's constants, and the unit of time of the net.

    of: name of a constant -> its unit. seconds: the unit of time in seconds, and the first delay or rate that has it.
    """

    of: dict[str, Unit] = field(default_factory=dict)
    seconds: tuple[float, str] | None = None

    def quantity(self, said: float | str, names: Mapping[str, Any]) -> Any:
        """Return the value of a number, of a formula over constants, or of a text such as `40 ns`, with its unit."""
        if not isinstance(said, str):
            return said
        parsed = split(said)
        unit = unit_named(parsed[1]) if parsed else None
        return Quantity(parsed[0], unit, said) if parsed and unit else Measuring(names, self.of).quantity(said)

    def checked(self, operand: Any, what: str, time: int = 1) -> Any:
        """Return the number of a delay (time 1) or a rate (time -1).

        Raises InputError for a quantity of another dimension, or with another unit of time than earlier ones.
        """
        if not isinstance(operand, Quantity):
            return operand
        unit, operand_text = operand.unit, operand.text or "a formula"
        if unit.like != (time, 0) or unit.counted:
            if unit.sure and (unit.like != (0, 0) or unit.counted):
                raise InputError(f"{what} must be {LIKE[time]}, got {operand_text} ({unit})")
            return operand.value
        base, literal = unit.scale**time, unit.literal**time
        if self.seconds is None and unit.sure:
            self.seconds = base, f"{what} {operand_text}"
        elif self.seconds is not None and not unit.loose:
            seconds, first = self.seconds
            if not any(isclose(scale, seconds, rel_tol=RATIO_TOLERANCE) for scale in (base, base / literal)):
                raise InputError(
                    f"{what} {operand_text} counts in {base:g} s, {first} in {seconds:g} s: a net has one unit of time;"
                    f" multiply by {(base / seconds) ** time:g}"
                )
        return operand.value
