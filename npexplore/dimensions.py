"""Dimensions of formulas: each number has a unit; sums of different dimensions are refused, results are converted.

A parameter with a unit is a quantity: value x scale is its amount in seconds, bits and counts. Products add exponents;
sums and comparisons need equal ones. A plain number in a sum gets the unit of the other operand. A literal factor that
equals the ratio of two units is a conversion written by hand (`p.clock_mhz * 1e6`) and is not applied a second time.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from npexplore.errors import InputError, UnknownNameError
from npexplore.units import SPOKEN, UNITS, split
from npexplore.units import quantity as spoken_in

# dimension in units.UNITS -> exponents of time and data, counted thing, factor of data to bits
DIMENSIONS: dict[str, tuple[int, int, str, float]] = {
    "time": (1, 0, "", 1.0), "frequency": (-1, 0, "", 1.0), "bit rate": (-1, 1, "", 1.0), "bytes": (0, 1, "", 8.0),
    "bit": (0, 1, "", 1.0), "packet rate": (-1, 0, "", 1.0), "cycles": (0, 0, "cycles", 1.0),
    "words": (0, 0, "words", 1.0), "packets": (0, 0, "packets", 1.0), "instructions": (0, 0, "instructions", 1.0),
}  # fmt: skip
NAMES = {(1, 0): "time", (-1, 0): "frequency or rate", (-1, 1): "bit rate", (0, 1): "bytes or bits", (2, 0): "time^2",
         (1, 1): "time x bytes", (1, -1): "time per bit", (0, 0): "a plain number"}  # fmt: skip
BARE = "1"  # the unit of plain numbers
AS_WRITTEN = "as written"  # in place of a unit: accept a number of any unit unchanged
RATIO_TOLERANCE = 1e-9  # relative difference between a literal and the ratio of units that it represents


@dataclass(frozen=True)
class Unit:
    """The unit of a number: scale x 1 s^time bit^data; `counted` names the things that a count is of.

    literal: the product of literal factors. loose: the number was multiplied by a number of unknown unit.
    """

    time: int
    data: int
    counted: str
    scale: float
    literal: float = 1.0
    loose: bool = False

    @property
    def like(self) -> tuple[int, int]:
        """The exponents of time and data."""
        return self.time, self.data

    @property
    def sure(self) -> bool:
        """Whether the dimension is certain: no factor may have changed it."""
        return self.literal == 1.0 and not self.loose

    def __str__(self) -> str:
        return self.counted or NAMES.get(self.like, f"s^{self.time} bit^{self.data}")


@lru_cache(maxsize=256)
def unit_named(name: str | None) -> Unit | None:
    """Return the unit of a name in units.UNITS; None for names whose numbers formulas treat as plain."""
    name = SPOKEN.get(name or "", name or "")
    if name not in UNITS or UNITS[name][0] not in DIMENSIONS:
        return None
    kind, factor = UNITS[name]
    time, data, counted, bits = DIMENSIONS[kind]
    return Unit(time, data, counted, factor * bits)


def _operator(apply: Callable[[Any, Any], Any]) -> Callable[[Quantity, Any], Any]:
    return lambda left, right: _of_numbers(apply, left, right)


def _reflected(apply: Callable[[Any, Any], Any]) -> Callable[[Quantity, Any], Any]:
    return lambda right, left: _of_numbers(apply, left, right)


@dataclass(frozen=True, eq=False, repr=False)
class Quantity:
    """A number, or an expression of values that differ between packets, in a unit."""

    value: Any
    unit: Unit
    text: str = ""
    named: str = ""  # the unit's name as the user wrote it

    def to(self, unit: str) -> Any:
        """Return the number in the named unit; raises InputError that shows both dimensions."""
        target = unit_named(unit)
        if target is None:
            raise UnknownNameError("unit", unit, [name for name in UNITS if unit_named(name)])
        return in_unit_of(self, unit, "a quantity")

    def __repr__(self) -> str:
        return f"{self.value!r} x {self.unit.scale:g} ({self.unit})"

    def __hash__(self) -> int:
        return hash((self.unit.like, self.unit.counted))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        same = (self.unit.like, self.unit.counted) == (other.unit.like, other.unit.counted)
        return same and bool(applied(operator.eq, self, other))

    def __neg__(self) -> Quantity:
        return replace(self, value=-self.value, text="")

    __add__, __radd__ = _operator(operator.add), _reflected(operator.add)
    __sub__, __rsub__ = _operator(operator.sub), _reflected(operator.sub)
    __mul__, __rmul__ = _operator(operator.mul), _reflected(operator.mul)
    __truediv__, __rtruediv__ = _operator(operator.truediv), _reflected(operator.truediv)
    __floordiv__, __rfloordiv__ = _operator(operator.floordiv), _reflected(operator.floordiv)
    __lt__, __le__ = _operator(operator.lt), _operator(operator.le)
    __gt__, __ge__ = _operator(operator.gt), _operator(operator.ge)


def quantity(value: str | float, unit: str = "") -> Quantity:
    """Return a number with its unit, for programs and machines in Python.

    Products combine dimensions, sums need equal ones; an operand of a visit is converted to the unit in its name.

    Args:
        value: a text such as `322 MHz`, or a number.
        unit: the unit of the number, such as `cycles`; for a text, the unit in which it is stored (default: its own).

    Raises:
        InputError: a text without a known unit, or a unit of another dimension.
        UnknownNameError: a unit that formulas cannot use.

    Example:
        >>> from npexplore.machine import quantity
        >>> round((quantity(60, "cycles") / quantity("322 MHz")).to("ns"), 3)
        186.335
    """
    parsed = split(value) if isinstance(value, str) else None
    if isinstance(value, str) and parsed is None:
        raise InputError(f"a quantity must be a number with a unit such as '322 MHz', got {value!r}")
    name = unit or (parsed[1] if parsed else "")
    known = unit_named(name)
    if known is None:
        raise UnknownNameError("unit", name, [known_name for known_name in UNITS if unit_named(known_name)])
    number = spoken_in(f"quantity {value!r}", value, name) if isinstance(value, str) else value
    return Quantity(number, known, str(value) if isinstance(value, str) else f"{value:g} {name}", name)


def _of_numbers(operate: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """Return the result of an operator on quantities and numbers; NotImplemented for others, such as expressions."""
    if not all(isinstance(operand, Quantity | int | float) for operand in (left, right)):
        return NotImplemented
    value = applied(operate, left, right, literal=True)
    by_one = right == 1 or (operate is operator.mul and left == 1)
    if operate in (operator.mul, operator.truediv) and isinstance(value, Quantity) and by_one:
        return replace(value, unit=replace(value.unit, loose=True))  # the 1 may have a unit, such as cycles per byte
    return value


def value_of(operand: Any) -> Any:
    """Return a number or an expression without its unit."""
    return operand.value if isinstance(operand, Quantity) else operand


def product(left: Any, right: Any, operate: Callable[[Any, Any], Any], *, divided: bool, literal: bool) -> Any:
    """Return a product or quotient. literal: one of the operands is a number written in the formula."""
    value = operate(value_of(left), value_of(right))
    lhs = left.unit if isinstance(left, Quantity) else None
    rhs = right.unit if isinstance(right, Quantity) else None
    if lhs is None and rhs is None:
        return value
    sign = -1 if divided else 1
    if lhs is not None and rhs is not None:
        like = (lhs.time + sign * rhs.time, lhs.data + sign * rhs.data)
        counted = lhs.counted + rhs.counted if like == (0, 0) and not (lhs.counted and rhs.counted) else ""
        scale, factor = lhs.scale * rhs.scale**sign, lhs.literal * rhs.literal**sign
        by_hand = (8.0 if _in_bytes(lhs) else 1.0) * (8.0 if _in_bytes(rhs) else 1.0) ** sign
        if lhs.data and rhs.data and like[1] == 0 and by_hand != 1.0 and _near(factor, by_hand):
            scale, factor = scale / factor, 1.0  # bytes x 8 over bits, or bytes over bits / 8
        return Quantity(value, _settled(Unit(*like, counted, scale, factor, lhs.loose or rhs.loose)))
    if lhs is not None:
        factor = float(value_of(right)) ** sign if literal and value_of(right) else 1.0
        return Quantity(value, _settled(replace(lhs, literal=lhs.literal * factor, loose=lhs.loose or not literal)))
    assert rhs is not None
    factor = float(value_of(left)) * rhs.literal**sign if literal else 1.0
    unit = Unit(sign * rhs.time, sign * rhs.data, "" if divided else rhs.counted, rhs.scale**sign)
    return Quantity(value, _settled(replace(unit, literal=factor, loose=rhs.loose or not literal)))


def _settled(unit: Unit) -> Unit:
    """Return a unit whose literal factors, if they convert to seconds and bits or bytes, are its conversion."""
    bases = (1.0, 8.0**unit.data)
    if unit.literal == 1.0 or any(_near(unit.scale, base) for base in bases):
        return unit
    for base in bases:
        if _near(unit.scale / unit.literal, base):
            return replace(unit, scale=base, literal=1.0)
    return unit


def _in_bytes(unit: Unit) -> bool:
    """Return whether a unit of data is bytes or a multiple by a power of 10 or 1024."""
    powers = [math.log(unit.scale / 8, base) for base in (10, 1024)]
    return unit.data != 0 and any(abs(power - round(power)) < RATIO_TOLERANCE for power in powers)


def _near(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=RATIO_TOLERANCE)


def aligned(left: Any, right: Any, doing: str) -> tuple[Any, Any, Unit | None]:
    """Return two operands in one unit, and the unit; raises InputError that shows both dimensions if they differ."""
    lhs = left.unit if isinstance(left, Quantity) else None
    rhs = right.unit if isinstance(right, Quantity) else None
    a, b = value_of(left), value_of(right)
    if lhs is None or rhs is None:
        return a, b, lhs or rhs
    same = lhs.like == rhs.like and (not lhs.counted or not rhs.counted or lhs.counted == rhs.counted)
    if not same:
        if lhs.sure and rhs.sure and not _plain(lhs) and not _plain(rhs):
            raise InputError(f"{doing} {_described(left)} and {_described(right)}: their dimensions differ")
        return a, b, lhs if lhs.sure and not rhs.sure else rhs if rhs.sure and not lhs.sure else None
    ratio = rhs.scale / lhs.scale
    if _near(ratio, 1.0) or _near(rhs.literal, ratio):
        return a, b, replace(lhs, loose=lhs.loose or rhs.loose)
    if _near(lhs.literal, 1 / ratio):
        return a, b, replace(rhs, literal=1.0)
    return a, _by(b, ratio), replace(lhs, loose=lhs.loose or rhs.loose)


def _plain(unit: Unit) -> bool:
    return unit.like == (0, 0) and not unit.counted


def _described(operand: Any) -> str:
    text = f"{operand.text} " if operand.text else ""
    return f"{text}({operand.unit})"


def _by(value: Any, factor: float) -> Any:
    """Return a value times a factor; a factor that is a power of ten is applied exactly."""
    power = math.log10(factor)
    if abs(power - round(power)) < RATIO_TOLERANCE and not hasattr(value, "__dict__"):
        return value * 10.0 ** round(power) if power > 0 else value / 10.0 ** -round(power)
    return value * factor


def in_unit_of(operand: Any, wanted: str | None, place: str) -> Any:
    """Return an operand as a plain number in the named unit.

    wanted: None for a number of iterations, units or members, which accepts bytes, cycles or words but no time, clock
    or rate; BARE also refuses bytes, but accepts bits. Raises InputError that shows both dimensions if they differ.
    """
    if not isinstance(operand, Quantity):
        return operand
    unit, target = operand.unit, unit_named(wanted)
    if target is None:
        bytes_of_bare = wanted == BARE and unit.data and unit.scale != 1.0
        if unit.sure and (unit.time or bytes_of_bare) and wanted != AS_WRITTEN:
            raise InputError(f"{place} must be a plain number, got {_described(operand)}")
        return operand.value if not _plain(unit) or _near(unit.scale, unit.literal) else _by(operand.value, unit.scale)
    if unit.like == target.like and (not unit.counted or not target.counted or unit.counted == target.counted):
        ratio = unit.scale / target.scale
        return operand.value if _near(ratio, 1.0) or _near(unit.literal, ratio) else _by(operand.value, ratio)
    is_reciprocal = unit.data == target.data and unit.time * target.time < 0 and not unit.loose
    if _plain(unit) or not (unit.sure or is_reciprocal):
        return operand.value
    raise InputError(f"{place} must be in {wanted} ({target}), got {_described(operand)}")


def number_in(value: Any, subject: str, *units: str) -> Any:
    """Return a quantity as a number in that one of these units that has its dimension; other values unchanged.

    Raises InputError that shows both dimensions if no unit has it.
    """
    if not isinstance(value, Quantity):
        return value
    same_dimension = [name for name in units if getattr(unit_named(name), "like", None) == value.unit.like]
    return in_unit_of(value, (same_dimension or units)[0], subject)


ADDITIVE = {operator.add: "adding", operator.sub: "subtracting", operator.mod: "a remainder of"}
COMPARING = {operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne}


def applied(operate: Callable[[Any, Any], Any], left: Any, right: Any, *, literal: bool = False) -> Any:
    """Return the result of an operator on two operands, also quantities; raises InputError for different dimensions."""
    if not isinstance(left, Quantity) and not isinstance(right, Quantity):
        return operate(left, right)
    if operate in (operator.mul, operator.truediv):
        return product(left, right, operate, divided=operate is operator.truediv, literal=literal)
    if operate is operator.floordiv:
        return whole_times(operate, left, right)
    left_value, right_value, unit = aligned(left, right, ADDITIVE.get(operate, "comparing"))
    value = operate(left_value, right_value)
    return value if unit is None or operate in COMPARING else Quantity(value, unit)


def whole_times(operate: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """Return how many times one quantity fits into another, as a plain number."""
    both = isinstance(left, Quantity) and isinstance(right, Quantity)
    if both and left.unit.like == right.unit.like:
        left_value, right_value, _ = aligned(left, right, "dividing")
        return operate(left_value, right_value)
    return operate(value_of(left), value_of(right))


def between(function: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """Return the smaller or larger of two operands, in one unit."""
    left_value, right_value, unit = aligned(left, right, "comparing")
    value = function(left_value, right_value)
    return value if unit is None else Quantity(value, unit)
