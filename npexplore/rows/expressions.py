"""Integer expressions of values that differ between packets: columns of the workload, loop counters, random choices.

An expression is evaluated as a NumPy array for demands (`evaluate`) and compiled into register arithmetic for the event
engine (rows/base.py). Python numbers become constants. Values in registers must be whole numbers; a time may have any
factor (`scaled`). Expressions have the units of their packet columns: sums and comparisons convert compatible units and
refuse incompatible ones (npexplore/dimensions.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import isfinite, isinf
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from npexplore.dimensions import Quantity, Unit, aligned, in_unit_of, product, unit_named, value_of, whole_times
from npexplore.errors import ModelError
from npexplore.rows.expression_text import ALIKE, OPPOSITE, text_of
from npexplore.units import unit_of

Values: TypeAlias = npt.NDArray[np.float64]
Operand: TypeAlias = "Expression | int | float"
Measured: TypeAlias = "Operand | Quantity"
Environment: TypeAlias = "Mapping[Variable, Values | None]"

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.floor_divide,
    "ceildiv": lambda a, b: -(np.floor_divide(-a, b)),
    "mod": np.mod,
    "min": np.minimum,
    "max": np.maximum,
    "right": lambda a, b: np.floor_divide(a, 2.0**b),
}
CONDITIONS: dict[str, Callable[[Any, Any], Any]] = {
    "lt": np.less,
    "le": np.less_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "ge": np.greater_equal,
    "gt": np.greater,
}
LINEAR = ("add", "sub", "min", "max")  # functions f with c f(a, b) = f(c a, c b) for c > 0


def _operator(name: str) -> Callable[[Expression, Measured], Expression]:
    return lambda left, right: function(name, left, right)


def _reflected(name: str) -> Callable[[Expression, Measured], Expression]:
    return lambda right, left: function(name, left, right)


def _comparison(name: str) -> Callable[[Expression, Measured], Condition]:
    return lambda left, right: condition(name, left, right)


class Expression:
    """Base of constants, variables and functions of two expressions.

    Operators return new expressions, comparisons return conditions. A program is recorded before any packet exists, so
    Python's own `if`, `while` and `range` cannot use an expression. Expressions are never changed; they are not frozen
    records, because these take three times as long to create and a machine has thousands.
    """

    __hash__, __repr__ = object.__hash__, text_of
    unit: Unit | None = None  # None: a plain number, or one of unknown unit

    __eq__ = _comparison("eq")  # type: ignore[assignment]
    __ne__ = _comparison("ne")  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise ModelError("a number that differs between packets was used in Python's own `if`; record m.branch(...)")

    def __index__(self) -> int:
        raise ModelError("a number that differs between packets was used as a Python integer; record m.loop(...)")

    __add__, __radd__ = _operator("add"), _reflected("add")
    __sub__, __rsub__ = _operator("sub"), _reflected("sub")
    __mul__, __rmul__ = _operator("mul"), _reflected("mul")
    __floordiv__, __rfloordiv__ = _operator("div"), _reflected("div")
    __mod__, __rmod__ = _operator("mod"), _reflected("mod")
    __lt__, __le__ = _comparison("lt"), _comparison("le")
    __gt__, __ge__ = _comparison("gt"), _comparison("ge")

    def __neg__(self) -> Expression:
        return function("sub", 0, self)

    def __truediv__(self, divisor: Measured) -> Expression:
        if isinstance(divisor, Expression) or not divisor:
            raise ModelError("a program divides by numbers other than 0, or by // and ceildiv, to whole numbers")
        return function("mul", self, 1 / divisor)

    def __rtruediv__(self, dividend: Measured) -> Expression:
        raise ModelError("a program divides by numbers, or by // and ceildiv, to whole numbers")


@dataclass(eq=False, repr=False)
class Constant(Expression):
    """A number that is known when the program is recorded."""

    value: float


@dataclass(eq=False, repr=False)
class Variable(Expression):
    """A number that differs between packets or loop iterations; it has a register while it is needed."""

    name: str
    unit: Unit | None = None


@dataclass(eq=False, repr=False)
class Moment(Variable):
    """A point in time: in seconds for demands, in ticks for the engine."""


@dataclass(frozen=True, eq=False, repr=False)
class Home(Expression):
    """The member of a server that the running thread belongs to; for solvers without threads, any member."""

    server: str


@dataclass(eq=False, repr=False)
class Function(Expression):
    """One of FUNCTIONS applied to two expressions."""

    name: str
    left: Expression
    right: Expression
    unit: Unit | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Condition:
    """One of CONDITIONS between two expressions."""

    name: str
    left: Expression
    right: Expression
    __repr__ = text_of

    def __bool__(self) -> bool:
        raise ModelError("a condition on a packet was used in Python's own `if`; record m.branch(...) instead")


def opposite(condition: Condition) -> Condition:
    """Return the negation of a condition."""
    return Condition(OPPOSITE[condition.name], condition.left, condition.right)


def expression(value: Measured) -> Expression:
    """Return a number as a constant, an expression as it is; raises ModelError for anything else."""
    if isinstance(value, Expression):
        return value
    if type(value) is int:
        return Constant(float(value))
    if isinstance(value, Quantity):
        return expression(in_unit_of(value, None, "an operand"))
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not isfinite(number):
        raise ModelError(f"an operand must be a finite number or an expression of packet columns, got {value!r}")
    return Constant(number)


def function(name: str, left: Measured, right: Measured) -> Expression:
    """Return FUNCTIONS[name](left, right), a constant if both are; raises ModelError for a division by 0."""
    if getattr(left, "unit", None) is None and getattr(right, "unit", None) is None:
        return _function(name, expression(left), expression(right))
    first, second, unit = _quantity(left), _quantity(right), None

    def apply(a: Operand, b: Operand) -> Expression:
        return _function(name, expression(a), expression(b))

    if name in ALIKE:
        a, b, unit = aligned(first, second, ALIKE[name])
        value = apply(a, b)
    elif name == "mul":
        literal = isinstance(first, int | float) or isinstance(second, int | float)
        value, unit = _value_and_unit(product(first, second, apply, divided=False, literal=literal))
        if literal and unit is not None:
            unit = replace(unit, loose=True)  # the unit of a Python number is unknown: it may be cycles per byte
    elif name in ("div", "ceildiv"):
        value = whole_times(apply, first, second)
    else:
        value = apply(value_of(first), value_of(second))
    return replace(value, unit=unit) if isinstance(value, Function) else value


def condition(name: str, left: Measured, right: Measured) -> Condition:
    """Return CONDITIONS[name](left, right); raises InputError for numbers of different dimensions."""
    if getattr(left, "unit", None) is None and getattr(right, "unit", None) is None:
        return Condition(name, expression(left), expression(right))
    a, b, _ = aligned(_quantity(left), _quantity(right), "comparing")
    return Condition(name, expression(a), expression(b))


def in_unit(value: Measured, unit: str | None, place: str) -> Expression:
    """Return an operand as an expression in the named unit.

    Raises InputError that shows both dimensions if they differ.
    """
    return without_unit(expression(in_unit_of(_quantity(value), unit, place)))


def without_unit(value: Expression) -> Expression:
    """Return a computed expression, which is converted already, without its unit; a variable is unchanged."""
    return replace(value, unit=None) if isinstance(value, Function) and value.unit is not None else value


def column(name: str) -> Variable:
    """Return the variable of a packet column, with the unit at the end of its name."""
    return Variable(name, unit_named(unit_of(name)))


def _quantity(value: Measured) -> Any:
    """Return an expression with a unit as a quantity, a constant as a number, anything else unchanged."""
    if isinstance(value, Constant):
        return value.value
    if isinstance(value, Expression) and value.unit is not None:
        return Quantity(value, value.unit, value.name if isinstance(value, Variable) else "")
    return value


def _value_and_unit(value: Any) -> tuple[Expression, Unit | None]:
    return (expression(value.value), value.unit) if isinstance(value, Quantity) else (expression(value), None)


def _function(name: str, a: Expression, b: Expression) -> Expression:
    """Return a function of two expressions without checking their units."""
    if name in ("div", "ceildiv", "mod") and isinstance(b, Constant) and b.value == 0:
        raise ModelError("division by zero in the program of a machine")
    if isinstance(a, Constant) and isinstance(b, Constant):
        return Constant(float(FUNCTIONS[name](a.value, b.value)))
    return Function(name, a, b)


def ceildiv(a: Operand, b: Operand) -> Expression:
    """Return a / b rounded up."""
    return function("ceildiv", a, b)


def minimum(a: Operand, b: Operand) -> Expression:
    """Return the smaller of two expressions."""
    return function("min", a, b)


def maximum(a: Operand, b: Operand) -> Expression:
    """Return the larger of two expressions."""
    return function("max", a, b)


def round_up(a: Operand, multiple: int) -> Expression:
    """Return the least multiple of `multiple` that is at least a."""
    return ceildiv(a, multiple) * multiple


def scaled(a: Operand, factor: float) -> Expression:
    """Return a * factor as an integer expression: exact for integer factors, else with the factor in steps of 2**-16.

    Fractions in a, such as 8 + 0.05 x bytes, are rounded once, at the end.
    """
    a = expression(a)
    if isinstance(a, Constant):
        if isinf(a.value * factor):
            raise ModelError(f"{a.value:g} is beyond the engine's 64-bit ticks")
        return Constant(float(round(a.value * factor)))
    if isinstance(a, Function) and a.name == "mul":  # words * 2.5 cycles: one factor, rounded once
        for factor_term, other_term in ((a.right, a.left), (a.left, a.right)):
            if isinstance(factor_term, Constant):
                return scaled(other_term, factor_term.value * factor)
    if _has_fraction(a):
        return function("right", _in_parts(a, factor) + 32768, 16)
    if factor == int(factor):
        return a * int(factor)
    return function("right", a * round(factor * 65536) + 32768, 16)


def _has_fraction(a: Operand) -> bool:
    """Return whether sums and products in an expression contain a number that is not whole."""
    if isinstance(a, Constant):
        return a.value != int(a.value)
    return isinstance(a, Function) and a.name in (*LINEAR, "mul") and (_has_fraction(a.left) or _has_fraction(a.right))


def _in_parts(a: Operand, factor: float) -> Expression:
    """Return a * factor in units of 2**-16, as an integer expression."""
    a = expression(a)
    if isinstance(a, Constant):
        return Constant(float(round(a.value * factor * 65536)))
    if isinstance(a, Function) and _has_fraction(a):
        if a.name in LINEAR:
            return function(a.name, _in_parts(a.left, factor), _in_parts(a.right, factor))
        for factor_term, other_term in ((expression(a.right), a.left), (expression(a.left), a.right)):
            if isinstance(factor_term, Constant):
                return _in_parts(other_term, factor_term.value * factor)
            if not _has_fraction(factor_term):
                return _in_parts(other_term, factor) * factor_term
    return a * round(factor * 65536)


def bound(value: Operand, names: Mapping[Variable, Operand]) -> Expression:
    """Return an expression with some variables replaced by operands, folding constants."""
    if isinstance(value, Variable):
        return expression(names[value]) if value in names else value
    if not isinstance(value, Function):
        return expression(value)
    left, right = bound(value.left, names), bound(value.right, names)
    return value if left is value.left and right is value.right else _function(value.name, left, right)


def evaluate(value: Operand, environment: Environment) -> Values | None:
    """Return the values of an expression; None if it depends on a random choice (a variable whose value is None).

    Raises ModelError for a variable without a value in the environment.
    """
    if type(value) is Constant:
        return np.float64(value.value)  # type: ignore[return-value]
    if isinstance(value, Variable):
        if value not in environment:
            raise ModelError(f"{value.name!r} is used outside the loop or branch that computes it")
        return environment[value]
    if isinstance(value, Home):
        return None
    if not isinstance(value, Function):
        number = expression(value)
        assert isinstance(number, Constant)
        return np.float64(number.value)  # type: ignore[return-value]
    left, right = evaluate(value.left, environment), evaluate(value.right, environment)
    if left is None or right is None:
        return None
    result: Values = FUNCTIONS[value.name](left, right)
    return result


def holds(condition: Condition, environment: Environment) -> Values | None:
    """Return where a condition holds, as 0 or 1; None if it depends on a random choice or a table lookup."""
    left, right = evaluate(condition.left, environment), evaluate(condition.right, environment)
    if left is None or right is None or np.any(np.isnan(left)) or np.any(np.isnan(right)):
        return None
    return np.asarray(CONDITIONS[condition.name](left, right), dtype=np.float64)
