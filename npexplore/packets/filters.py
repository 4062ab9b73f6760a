"""Choose packets by an expression over the table's columns, such as `ipv4 and length > 100 and dst in "10.0.0.0/8"`.

Python's syntax, read by its own parser, but only names of columns, numbers, address prefixes, comparisons, arithmetic
and bit operations, `and`, `or`, `not`: nothing is called.
"""

import ast
import operator
from collections.abc import Callable
from ipaddress import IPv4Network
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import InputError
from npexplore.packets.columns import PacketTable

_BINARY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Mod: operator.mod,
    ast.FloorDiv: operator.floordiv,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def select(table: PacketTable, expression: str) -> NDArray[np.bool_]:
    """Return which packets an expression holds for; raises InputError that points at what is not understood."""
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError) as error:
        raise InputError(f"filter {expression!r} is no expression: {error}") from None
    found = np.asarray(_value(table, tree, expression))
    return np.broadcast_to(found.astype(bool), table.rows)


def _value(table: PacketTable, node: ast.expr, text: str) -> Any:
    match node:
        case ast.Name(id=name):
            column = table[name]
            return column if column.dtype == bool else column.astype(np.int64)
        case ast.Constant(value=bool() | int() as value):
            return value
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return ~_truth(table, operand, text)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(table, operand, text)
        case ast.BoolOp(op=op, values=values):
            combine = np.logical_and if isinstance(op, ast.And) else np.logical_or
            return combine.reduce([_truth(table, value, text) for value in values])
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_value(table, left, text), _value(table, right, text))
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn() as op], comparators=[ast.Constant(value=str() as net)]):
            inside = _inside(_value(table, left, text), net, text)
            return inside if isinstance(op, ast.In) else ~inside
        case ast.Compare(left=left, ops=ops, comparators=comparators) if all(type(op) in _BINARY for op in ops):
            values = [_value(table, part, text) for part in (left, *comparators)]
            pairs = zip(ops, values[:-1], values[1:], strict=True)
            return np.logical_and.reduce([_BINARY[type(op)](a, b) for op, a, b in pairs])
        case _:
            raise InputError(f"filter {text!r}: {ast.unparse(node)!r} may not stand in a filter")


def _truth(table: PacketTable, node: ast.expr, text: str) -> NDArray[np.bool_]:
    return np.asarray(_value(table, node, text)).astype(bool)


def _inside(address: NDArray[np.int64], prefix: str, text: str) -> NDArray[np.bool_]:
    try:
        network = IPv4Network(prefix)
    except ValueError as error:
        raise InputError(f"filter {text!r}: {error}") from None
    return np.asarray(address & int(network.netmask) == int(network.network_address), dtype=bool)
