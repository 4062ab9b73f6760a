"""Identities between printed numbers: formulas over ledger keys, read from data/published/identities/PAPER.toml.

A formula relates two expressions by =, <=, >= or !=. A key is in braces, without the paper's prefix; its value is the
printed interval in SI base units. Besides numbers and + - * / **, the functions min, max, mean and ceil are allowed.
"""

import ast
import operator
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from npexplore import syntax
from npexplore.errors import InputError, one_of
from npexplore.ledger.intervals import Interval, largest, mean, smallest
from npexplore.paths import text_content

_RELATION = re.compile(r"(<=|>=|!=|=)")
_KEY = re.compile(r"\{([^{}]+)\}")
_FIELDS = ("id", "reading", "formula", "explanation", "remark", "each", "within", "hypothesis", "returned")
_OPERATORS: dict[type[ast.operator], Callable[[Interval, Interval], Interval]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[..., Interval]] = {
    "min": smallest,
    "max": largest,
    "mean": mean,
    "ceil": Interval.ceil,
}


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """One formula with its reading: what it assumes about the published words.

    explanation: used if the formula fails; remark: used if it holds. within: replaces the interval of the left key by
    its point with this relative margin, where the ledger's interval was set wide by hand. hypothesis: the formula tests
    the assumption that a number is misprinted, so the printed numbers do not follow from it. returned: the number that
    it determines is an input that every model returns unchanged.
    """

    paper: str
    id: str
    reading: str
    formula: str
    explanation: str | None
    remark: str | None
    within: float | None
    hypothesis: bool = False
    returned: bool = False

    @property
    def sides(self) -> tuple[str, str, str]:
        """The left expression, the relation, the right expression."""
        left, relation, right = _RELATION.split(self.formula)
        return left.strip(), relation, right.strip()

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys in the formula, each once, without the paper's prefix."""
        return tuple(dict.fromkeys(_KEY.findall(self.formula)))


def evaluate(expression: str, values: Mapping[str, Interval]) -> Interval:
    """Return the interval of an expression; raises InputError unless it follows the grammar above."""
    keys: list[str] = []

    def name(match: re.Match[str]) -> str:
        keys.append(match[1])
        return f"_{len(keys) - 1}"

    source = _KEY.sub(name, expression)
    try:
        tree = syntax.expression(source)
    except SyntaxError:
        raise InputError(f"formula must be arithmetic over {{keys}}, got {expression!r}") from None

    def walk(node: ast.expr) -> Interval:
        match node:
            case ast.Constant(value=int() | float() as number):
                return Interval.at(float(number))
            case ast.Name(id=variable) if variable[1:].isdigit():
                return values[keys[int(variable[1:])]]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -walk(operand)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](walk(left), walk(right))
            case ast.Call(func=ast.Name(id=function), args=arguments, keywords=[]) if function in _FUNCTIONS:
                return _FUNCTIONS[function](*map(walk, arguments))
        raise InputError(f"formula must use + - * / ** and {', '.join(_FUNCTIONS)} only, got {expression!r}")

    return walk(tree)


def exponents(expression: str) -> dict[str, float] | None:
    """Return the exponent of each key in an expression that is a product of powers of keys, else None."""
    keys = _KEY.findall(expression)
    numbers = iter(range(len(keys)))
    tree = syntax.expression(_KEY.sub(lambda _: f"_{next(numbers)}", expression))

    def walk(node: ast.expr) -> dict[str, float] | None:
        match node:
            case ast.Constant():
                return {}
            case ast.Name(id=variable):
                return {keys[int(variable[1:])]: 1.0}
            case ast.BinOp(left=left, op=ast.Mult() | ast.Div() as op, right=right):
                lefts, rights, sign = walk(left), walk(right), 1.0 if isinstance(op, ast.Mult) else -1.0
                if lefts is None or rights is None:
                    return None
                return {key: lefts.get(key, 0.0) + sign * rights.get(key, 0.0) for key in {**lefts, **rights}}
            case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int() | float() as power)):
                base = walk(left)
                return None if base is None else {key: power * value for key, value in base.items()}
        return None

    return walk(tree)


def read(file: Path) -> Iterator[Identity]:
    """Yield the identities of one paper; `each` repeats an identity with words <name> replaced. Raises InputError."""
    try:
        tables = tomllib.loads(text_content(file))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{file.name}: must be a readable TOML file, got {error}") from None
    for name in tables:
        one_of(f"{file.name}: table", name, ["identity"])
    entries = tables.get("identity", [])
    if not isinstance(entries, list):
        raise InputError(f"{file.name}: must be [[identity]] entries, got [identity]")
    for number, entry in enumerate(entries, 1):
        place = f"{file.name}: identity {entry.get('id', number)!r}"
        for field in entry:
            one_of(f"{place}: field", field, _FIELDS)
        if len(_RELATION.findall(entry.get("formula", ""))) != 1 or not (entry.get("id") and entry.get("reading")):
            raise InputError(f"{place}: must have an id, a reading and a formula with one of = <= >= !=, got {entry!r}")
        for words in entry.get("each", [{}]):
            yield _identity(file.stem, entry, words)


def _identity(paper: str, entry: Mapping[str, Any], words: Mapping[str, object]) -> Identity:
    def fill(field: str) -> str | None:
        text = entry.get(field)
        for word, replacement in words.items():
            text = text and text.replace(f"<{word}>", str(replacement))
        return " ".join(text.split()) if text else None

    return Identity(
        paper=paper,
        id=fill("id") or "",
        reading=fill("reading") or "",
        formula=fill("formula") or "",
        explanation=fill("explanation"),
        remark=fill("remark"),
        within=entry.get("within"),
        hypothesis=bool(entry.get("hypothesis")),
        returned=bool(entry.get("returned")),
    )
