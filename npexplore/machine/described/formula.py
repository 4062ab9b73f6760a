"""Evaluates formulas of a machine file: a few forms of Python's syntax, interpreted and never executed as Python.

Forms: numbers, texts, names, `p.NAME` (a parameter), `+ - * / // %`, comparisons, `a if b else c`, and FUNCTIONS.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from npexplore import syntax
from npexplore.dimensions import Quantity, applied, between, in_unit_of, unit_named, value_of, whole_times
from npexplore.errors import InputError, ModelError, UnknownNameError
from npexplore.rows.expressions import Constant, Expression, ceildiv, maximum, minimum, round_up
from npexplore.units import unit_of

OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
MOST_DIGITS = 400  # more digits than a float has; Python would compute a power of ten of any size


def _rounded(value: Any, digits: int | None = None) -> Any:
    """Return a value rounded as in Python; raises InputError for more than MOST_DIGITS digits."""
    if isinstance(digits, int) and abs(digits) > MOST_DIGITS:
        raise InputError(f"round takes from -{MOST_DIGITS} to {MOST_DIGITS} digits, got {digits}")
    return round(value, digits)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ceildiv": ceildiv, "minimum": minimum, "maximum": maximum, "round_up": round_up, "round": _rounded,
}  # fmt: skip


class Formulas:
    """Evaluates formulas over names; formulas may read the attributes of `open_names`."""

    MEASURES = True  # whether numbers carry units (npexplore/dimensions.py)

    def __init__(self, names: Mapping[str, Any], open_names: frozenset[str] = frozenset({"p"})) -> None:
        self.names = dict(names)
        self.open_names = open_names

    def text(self, text: str, unit: str | None = None) -> Any:
        """Return the value of a formula, in `unit` (None: any).

        Raises InputError for text that is not a formula, and for a value of another dimension.
        """
        return plain(in_unit_of(self.quantity(text), unit, f"formula {text.strip()!r}"))

    def quantity(self, text: str) -> Any:
        """Return the value of a formula, with its unit; raises InputError for text that is not a formula."""
        try:
            return self.value(syntax.expression(text))
        except (SyntaxError, ValueError) as error:
            raise InputError(f"{text.strip()!r} is not a formula: {getattr(error, 'msg', error)}") from None
        except (TypeError, ZeroDivisionError, OverflowError) as error:
            raise InputError(f"formula {text.strip()!r}: {error}") from None

    def value(self, node: ast.expr) -> Any:
        """Return the value of an expression; raises InputError for a form that is not supported."""
        match node:
            case ast.Constant(value=bool() | int() | float() | str()):
                return node.value
            case ast.Name(id=name):
                if name not in self.names:
                    raise UnknownNameError("name", name, [*self.names, *FUNCTIONS])
                return self.names[name]
            case ast.Attribute(value=ast.Name(id=owner), attr=attribute) if (
                owner in self.open_names and not attribute.startswith("_")
            ):
                named = self.names[owner]
                is_key = isinstance(named, Mapping) and attribute != "jitter"  # a key, not an attribute of the object
                return self.measured(owner, attribute, named[attribute] if is_key else getattr(named, attribute))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                number = self.value(operand)
                return replace(number, value=-number.value) if isinstance(number, Quantity) else -number
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                literal = _is_literal(left) or _is_literal(right)
                return _applied(op, self.value(left), self.value(right), literal)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in OPERATORS:
                return applied(OPERATORS[type(op)], self.value(left), self.value(right))
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                return self.value(body if value_of(self.value(test)) else otherwise)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return tuple(self.value(part) for part in parts)
            case ast.Call():
                return self.call(node)
        raise InputError(f"{ast.unparse(node)!r} has no meaning here")

    def measured(self, owner: str, attribute: str, value: Any) -> Any:
        """Return the number of an attribute with its unit: the declared one, else the one of its name."""
        if not self.MEASURES or isinstance(value, bool) or not isinstance(value, int | float | Expression):
            return value
        named = self.names[owner]
        unit = unit_named(named._unit_of(attribute) if hasattr(type(named), "_unit_of") else unit_of(attribute))
        return value if unit is None else Quantity(value, unit, f"{owner}.{attribute}")

    def call(self, node: ast.Call) -> Any:
        """Return the value of a call of one of FUNCTIONS."""
        if not isinstance(node.func, ast.Name):
            raise InputError(f"{ast.unparse(node)!r} has no meaning here")
        if node.func.id not in FUNCTIONS:
            raise UnknownNameError("function", node.func.id, FUNCTIONS)
        unnamed, named = self.operands(node)
        if any(isinstance(operand, Quantity) for operand in unnamed) and not named:
            return _measured_call(node.func.id, unnamed)
        return FUNCTIONS[node.func.id](*map(value_of, unnamed), **{name: value_of(v) for name, v in named.items()})

    def operands(self, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        """Return the positional operands of a call, and those by name."""
        if any(isinstance(arg, ast.Starred) for arg in node.args) or any(word.arg is None for word in node.keywords):
            raise InputError(f"{ast.unparse(node)!r} has no meaning here")
        return [self.value(arg) for arg in node.args], {str(word.arg): self.value(word.value) for word in node.keywords}


def _measured_call(name: str, operands: list[Any]) -> Any:
    """Return the value of one of FUNCTIONS if some operands are quantities."""
    function = FUNCTIONS[name]
    if name == "ceildiv":
        return whole_times(function, *operands)
    if name == "round" and isinstance(operands[0], Quantity):
        return replace(operands[0], value=function(*map(value_of, operands)))
    return between(function, *operands)


@lru_cache(maxsize=4096)
def _is_literal(node: ast.expr) -> bool:
    """Return whether an expression consists of numbers only, such as `1e9 / 8`."""
    return not any(isinstance(part, ast.Name | ast.Call) for part in ast.walk(node))


def _applied(op: ast.operator, left: Any, right: Any, literal: bool) -> Any:
    left_value, right_value = value_of(left), value_of(right)
    if isinstance(left_value, str) or isinstance(right_value, str):
        raise InputError(f"text cannot be part of a calculation, got {left_value!r} and {right_value!r}")
    if isinstance(op, ast.Div) and (isinstance(left_value, Expression) or isinstance(right_value, Expression)):
        raise ModelError("what differs between packets cannot be divided by /; use //, ceildiv or * (1 / number)")
    return applied(OPERATORS[type(op)], left, right, literal=literal)


def plain(value: Any) -> Any:
    """Return a constant expression as a number, an int if it is whole; other values unchanged."""
    if isinstance(value, Constant):
        value = value.value
    return int(value) if isinstance(value, float) and value.is_integer() else value
