"""Integer expressions over what varies between packets: columns of the workload, loop counters, random choices.

The same expression is evaluated as a NumPy array for demands (`evaluate`) and compiled into register arithmetic for
the event engine (machine/assembler.py). Plain Python numbers are constants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Values: TypeAlias = npt.NDArray[np.float64]
Operand: TypeAlias = "Expression | int | float"
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


class Expression:
    """Base of constants, variables and functions of two expressions; operators build new ones."""

    def __add__(self, other: Operand) -> Expression:
        return function("add", self, other)

    def __radd__(self, other: Operand) -> Expression:
        return function("add", other, self)

    def __sub__(self, other: Operand) -> Expression:
        return function("sub", self, other)

    def __rsub__(self, other: Operand) -> Expression:
        return function("sub", other, self)

    def __mul__(self, other: Operand) -> Expression:
        return function("mul", self, other)

    def __rmul__(self, other: Operand) -> Expression:
        return function("mul", other, self)

    def __floordiv__(self, other: Operand) -> Expression:
        return function("div", self, other)

    def __mod__(self, other: Operand) -> Expression:
        return function("mod", self, other)

    def __lt__(self, other: Operand) -> Condition:
        return Condition("lt", self, expression(other))

    def __le__(self, other: Operand) -> Condition:
        return Condition("le", self, expression(other))

    def __gt__(self, other: Operand) -> Condition:
        return Condition("gt", self, expression(other))

    def __ge__(self, other: Operand) -> Condition:
        return Condition("ge", self, expression(other))

    def equals(self, other: Operand) -> Condition:
        """Return the condition self == other (`==` itself compares the objects, as everywhere in Python)."""
        return Condition("eq", self, expression(other))

    def differs(self, other: Operand) -> Condition:
        """Return the condition self != other."""
        return Condition("ne", self, expression(other))


@dataclass(frozen=True)
class Constant(Expression):
    """A number known while recording."""

    value: float


@dataclass(frozen=True, eq=False)
class Variable(Expression):
    """A number known per packet or per turn of a loop; it lives in a register while it is needed."""

    name: str


@dataclass(frozen=True)
class Function(Expression):
    """One of FUNCTIONS applied to two expressions."""

    name: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Condition:
    """One of CONDITIONS between two expressions."""

    name: str
    left: Expression
    right: Expression


def expression(value: Operand) -> Expression:
    """Return a number as a constant, an expression as it is."""
    return value if isinstance(value, Expression) else Constant(float(value))


def function(name: str, left: Operand, right: Operand) -> Expression:
    """Return FUNCTIONS[name](left, right), folded if both are constants."""
    a, b = expression(left), expression(right)
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
    """Return the least multiple that is not below a."""
    return ceildiv(a, multiple) * multiple


def scaled(a: Operand, factor: float) -> Expression:
    """Return a * factor as an integer expression: exact for integer factors, else in steps of 2**-16 of the factor."""
    a = expression(a)
    if isinstance(a, Constant):
        return Constant(float(round(a.value * factor)))
    if factor == int(factor):
        return a * int(factor)
    return function("right", a * round(factor * 65536) + 32768, 16)


def evaluate(value: Operand, environment: Environment) -> Values | None:
    """Return the values of an expression; None if it depends on a random choice (a variable whose value is None)."""
    value = expression(value)
    if isinstance(value, Constant):
        return np.float64(value.value)  # type: ignore[return-value]
    if isinstance(value, Variable):
        return environment[value]
    assert isinstance(value, Function)
    left, right = evaluate(value.left, environment), evaluate(value.right, environment)
    if left is None or right is None:
        return None
    result: Values = FUNCTIONS[value.name](left, right)
    return result


def holds(condition: Condition, environment: Environment) -> Values | None:
    """Return where a condition holds, as 0 or 1; None if it depends on a random choice."""
    left, right = evaluate(condition.left, environment), evaluate(condition.right, environment)
    if left is None or right is None:
        return None
    return np.asarray(CONDITIONS[condition.name](left, right), dtype=np.float64)
