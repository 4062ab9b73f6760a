"""Formulas and program lines of a machine file: a few forms of Python's syntax, read and never executed as Python.

Numbers, texts, names, `p.NAME` (a parameter), `+ - * / // %`, comparisons, `a if b else c`, and the functions below.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from npexplore import syntax
from npexplore.errors import InputError, ModelError, UnknownNameError
from npexplore.rows.expressions import Constant, Expression, ceildiv, maximum, minimum, round_up

OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ceildiv": ceildiv, "minimum": minimum, "maximum": maximum, "round_up": round_up, "round": round,
}  # fmt: skip


class Formulas:
    """Evaluates formulas over names; `open_names` are those whose attributes may be read."""

    def __init__(self, names: Mapping[str, Any], open_names: frozenset[str] = frozenset({"p"})) -> None:
        self.names = dict(names)
        self.open_names = open_names

    def text(self, text: str) -> Any:
        """Return the value of a formula; raises InputError for text that is not a formula."""
        try:
            return plain(self.value(syntax.expression(text)))
        except (SyntaxError, ValueError) as error:
            raise InputError(f"{text.strip()!r} is not a formula: {getattr(error, 'msg', error)}") from None
        except (TypeError, ZeroDivisionError, OverflowError) as error:
            raise InputError(f"formula {text.strip()!r}: {error}") from None

    def value(self, node: ast.expr) -> Any:
        """Return the value of a piece of syntax; raises InputError for a form that has no meaning here."""
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
                return getattr(self.names[owner], attribute)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.value(operand)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                return _applied(op, self.value(left), self.value(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in OPERATORS:
                return OPERATORS[type(op)](self.value(left), self.value(right))
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                return self.value(body if self.value(test) else otherwise)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return tuple(self.value(part) for part in parts)
            case ast.Call():
                return self.call(node)
        raise InputError(f"{ast.unparse(node)!r} has no meaning here")

    def call(self, node: ast.Call) -> Any:
        """Return the value of a call of one of FUNCTIONS."""
        if not isinstance(node.func, ast.Name):
            raise InputError(f"{ast.unparse(node)!r} has no meaning here")
        if node.func.id not in FUNCTIONS:
            raise UnknownNameError("function", node.func.id, FUNCTIONS)
        unnamed, named = self.operands(node)
        return FUNCTIONS[node.func.id](*unnamed, **named)

    def operands(self, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        """Return the operands of a call, without and with names."""
        if any(isinstance(one, ast.Starred) for one in node.args) or any(one.arg is None for one in node.keywords):
            raise InputError(f"{ast.unparse(node)!r} has no meaning here")
        return [self.value(one) for one in node.args], {str(one.arg): self.value(one.value) for one in node.keywords}


def _applied(op: ast.operator, left: Any, right: Any) -> Any:
    if isinstance(left, str) or isinstance(right, str):
        raise InputError(f"text cannot be part of a calculation, got {left!r} and {right!r}")
    if isinstance(op, ast.Div) and (isinstance(left, Expression) or isinstance(right, Expression)):
        raise ModelError("what differs between packets cannot be divided by /; use //, ceildiv or * (1 / number)")
    return OPERATORS[type(op)](left, right)


def plain(value: Any) -> Any:
    """Return a constant expression as a number, whole where it is whole; anything else as it is."""
    if isinstance(value, Constant):
        value = value.value
    return int(value) if isinstance(value, float) and value.is_integer() else value
