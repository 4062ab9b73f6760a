"""Choose packets by an expression over the table's columns, such as `ipv4 and length > 100 and dst in "10.0.0.0/8"`.

The syntax is Python's, restricted to column names, numbers, address prefixes, comparisons, arithmetic, bit operations,
`and`, `or` and `not`; an expression cannot call anything. `src` and `dst` may be `in` an IPv4 or IPv6 prefix, or `==`
an address.
"""

import ast
import operator
from collections.abc import Callable
from ipaddress import ip_network
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore import syntax
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
# largest value of a packet's field; -1 stands for a missing field
MAX_VALUES = {
    "ttl": 255, "ip_proto": 255, "tos": 255, "dscp": 63, "ecn": 3, "sport": 0xFFFF, "dport": 0xFFFF, "vlan_id": 0xFFF,
    "mpls_label": 0xFFFFF, "flow_label": 0xFFFFF,
}  # fmt: skip


def matching_packets(table: PacketTable, expression: str) -> NDArray[np.bool_]:
    """Return a mask of the packets that satisfy an expression; raises InputError for syntax that is not allowed."""
    try:
        tree = syntax.expression(expression)
    except (SyntaxError, ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else error
        form = 'such as src == "10.0.0.1" and dport == 80'
        raise InputError(f"filter {expression!r} is not a valid expression ({form}): {reason}") from None
    matches = np.asarray(_value(table, tree, expression))
    return np.broadcast_to(matches.astype(bool), table.rows)


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
        case ast.Compare(
            left=left,
            ops=[ast.In() | ast.NotIn() | ast.Eq() | ast.NotEq() as op],
            comparators=[ast.Constant(value=str() as net)],
        ):
            inside = _inside(table, left, net, text)
            return inside if isinstance(op, ast.In | ast.Eq) else ~inside
        case ast.Compare(left=left, ops=ops, comparators=comparators) if all(type(op) in _BINARY for op in ops):
            values = [_value(table, part, text) for part in (left, *comparators)]
            for previous, current in pairwise((left, *comparators)):
                _check_possible(previous, current, text)
                _check_possible(current, previous, text)
            pairs = zip(ops, values[:-1], values[1:], strict=True)
            return np.logical_and.reduce([_BINARY[type(op)](x, y) for op, x, y in pairs])
        case _:
            raise InputError(f"filter {text!r}: {ast.unparse(node)!r} is not allowed in a filter")


def _check_possible(column: ast.expr, number: ast.expr, text: str) -> None:
    """Raise InputError if a column is compared with a number larger than any packet's value."""
    max_value = MAX_VALUES.get(column.id) if isinstance(column, ast.Name) else None
    value = number.value if isinstance(number, ast.Constant) else None
    if max_value is not None and isinstance(value, int) and value > max_value:
        raise InputError(f"filter {text!r}: {ast.unparse(column)} must be 0 to {max_value}, got {value}")


def _truth(table: PacketTable, node: ast.expr, text: str) -> NDArray[np.bool_]:
    return np.asarray(_value(table, node, text)).astype(bool)


def _inside(table: PacketTable, side: ast.expr, prefix: str, text: str) -> NDArray[np.bool_]:
    """Return which packets have `src` or `dst` in a prefix; False for packets of another IP version or without IP."""
    if not isinstance(side, ast.Name) or side.id not in ("src", "dst"):
        raise InputError(f"filter {text!r}: only src and dst can be in a prefix, got {ast.unparse(side)!r}")
    try:
        network = ip_network(prefix)
    except ValueError as error:
        raise InputError(f"filter {text!r}: {error}") from None
    if network.version == 4:
        is_ipv4 = table["ipv4"] & table["header_complete"]
        return np.asarray(is_ipv4 & (table[side.id] & int(network.netmask) == int(network.network_address)), dtype=bool)
    inside = np.zeros(table.rows, bool)
    addresses = table.ipv6.source if side.id == "src" else table.ipv6.destination
    mask, value = (np.frombuffer(part.packed, np.uint8) for part in (network.netmask, network.network_address))
    inside[table.ipv6.packet] = ((addresses & mask) == value).all(axis=1)
    return inside
