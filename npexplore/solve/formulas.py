"""Formulas for users: expressions with their present values, elasticities, and crossings of two ceilings.

    elasticity = d ln C / d ln k        ceilings C1, C2 cross where 1/C1 - 1/C2 = 0 in one knob, all others unchanged

Both are derived from the expressions (SymPy), in closed form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import log
from typing import TYPE_CHECKING, Any

from npexplore.errors import InputError, UnknownNameError
from npexplore.machine.parameters import Value
from npexplore.records import content_hash

if TYPE_CHECKING:
    import sympy

EXACT = 1e-12  # largest relative difference of a formula from the demands
ROOT = 1e-9  # largest relative difference of a closed-form crossing from the numerical root
FARTHEST = 100.0  # crossings are searched within this factor of a knob's value
MOST_SHOWN = 8


class _Sent:
    """Base of records whose expression is pickled and copied unchanged; SymPy's own pickling rewrites sums."""

    def __reduce__(self) -> tuple[Any, ...]:
        content = {name: _parts(value) if name == "expression" else value for name, value in vars(self).items()}
        return _received, (type(self), content)


def _parts(expression: sympy.Basic) -> Any:
    """Return an expression as nested tuples (function, arguments); symbols and numbers stay as they are."""
    return (expression.func, *map(_parts, expression.args)) if expression.args else expression


def _joined(parts: Any) -> Any:
    """Return the expression of such nested tuples without simplifying it."""
    return parts[0](*map(_joined, parts[1:]), evaluate=False) if isinstance(parts, tuple) else parts


def _received(kind: type[_Sent], content: dict[str, Any]) -> Any:
    return kind(**content | {"expression": _joined(content["expression"])})


@dataclass(frozen=True)
class Formula(_Sent):
    """One number as an expression of knobs and of packets' demands, with its present value.

    held: knobs that act in steps, with the values for which the formula is valid.

    Example:
        >>> import npexplore as npx
        >>> found = npx.design("ixp2400_dram").formula()
        >>> next(iter(found.ceilings.values())).name
        'dram.bus'
    """

    __hash__ = content_hash

    name: str
    expression: sympy.Expr
    unit: str
    today: float
    held: Mapping[str, Value]

    @property
    def latex(self) -> str:
        """The expression as LaTeX."""
        import sympy

        shown = shortened(self.expression)
        names = {symbol: rf"\text{{{symbol}}}" for symbol in shown.free_symbols}
        return str(sympy.latex(shown, symbol_names=names, mul_symbol="dot"))

    def __str__(self) -> str:
        return f"{self.name} = {shortened(self.expression)}   [{_number(self.today)} {self.unit}]"


@dataclass(frozen=True)
class Crossing(_Sent):
    """A knob's value at which another ceiling becomes the lowest; below: whether `binds` is lower below that value."""

    knob: str
    binds: str
    other: str
    expression: sympy.Expr
    value: float
    below: bool

    def __str__(self) -> str:
        side = "below" if self.below else "above"
        at = f"{self.knob} = {self.value:.6g} ({shortened(self.expression)})"
        return f"{self.binds} binds {side} {at}, beyond it {self.other}"


@dataclass(frozen=True)
class Formulas:
    """Formulas of a machine's ceilings (packets/s, lowest first) and of its latency without contention (s).

    values: present values of all symbols: knobs, and a packet's demands. refused: numbers without a formula, and why.
    assumed: choices and tables that all formulas assume. latency: None if a part of it has no formula. demands: the
    symbols that are a packet's demands.

    Example:
        >>> import npexplore as npx
        >>> found = npx.design("ixp2400_dram").formula()
        >>> next(iter(found.ceilings))
        'dram.bus'
    """

    __hash__ = content_hash

    design: str
    workload: str
    ceilings: Mapping[str, Formula]
    latency: Formula | None
    parts: Mapping[str, Formula]
    values: Mapping[str, float]
    refused: Mapping[str, str]
    assumed: Mapping[str, Value] = field(default_factory=dict)
    demands: frozenset[str] = frozenset()

    @cached_property
    def held(self) -> dict[str, Value]:
        """Knobs that act in steps on any formula, with the values for which the formulas are valid."""
        shown = [*self.ceilings.values(), *([self.latency] if self.latency else [])]
        return {knob: value for formula in shown for knob, value in formula.held.items()}

    @property
    def binds(self) -> Formula:
        """The lowest ceiling that has a formula."""
        return next(iter(self.ceilings.values()))

    def value(self, formula: Formula, **knobs: float) -> float:
        """Return a formula's value with some knobs changed; raises UnknownNameError, InputError for a held knob."""
        for name in knobs:
            if name in formula.held:
                raise InputError(f"formula of {formula.name}: {name} acts in steps and must be {formula.held[name]}")
            if name not in self.values:
                raise UnknownNameError(f"symbol of {self.design}'s formulas", name, self.values)
        known = {**self.values, **knobs}
        return evaluated(formula.expression, known)

    def elasticity(self, knob: str, formula: Formula | None = None) -> sympy.Expr:
        """Return d ln ceiling / d ln knob of a ceiling (None: the lowest one) as an expression."""
        import sympy

        of, symbol = (formula or self.binds).expression, sympy.Symbol(knob, positive=True)
        self.value(formula or self.binds, **{knob: self.values.get(knob, 1.0)})
        return sympy.factor_terms(sympy.together(sympy.diff(of, symbol) * symbol / of))

    @cached_property
    def crossings(self) -> tuple[Crossing, ...]:
        """The nearest crossing of the lowest ceiling with another one, for each knob changed alone."""
        import sympy

        lowest, crossings = self.binds, []
        for symbol in sorted(lowest.expression.free_symbols, key=str):
            if str(symbol) not in self._knobs or str(symbol) in lowest.held:
                continue
            present, known = self.values[str(symbol)], {k: v for k, v in self.values.items() if k != str(symbol)}
            candidates: list[tuple[float, float, Formula]] = []
            for rival in self.ceilings.values():
                if rival is lowest or str(symbol) in rival.held:
                    continue
                numbers = [each.expression.xreplace(_symbols(each.expression, known)) for each in (lowest, rival)]
                gap = sympy.numer(sympy.together(1 / numbers[0] - 1 / numbers[1]))
                for root in sympy.Poly(gap, symbol).nroots(n=15) if gap.has(symbol) else ():
                    if root.is_real and 1 / FARTHEST < root / present < FARTHEST and abs(root / present - 1) > EXACT:
                        candidates.append((abs(log(root / present)), float(root), rival))
            for _, estimate, rival in sorted(candidates, key=lambda candidate: candidate[0]):
                root = self._root(lowest, rival, symbol, estimate)
                if root is not None:
                    value = evaluated(root, self.values)
                    crossings.append(Crossing(str(symbol), lowest.name, rival.name, root, value, value > present))
                    break
        return tuple(crossings)

    def _root(self, first: Formula, other: Formula, symbol: sympy.Symbol, near: float) -> sympy.Expr | None:
        """Return the closed form of the crossing of two ceilings near a knob's value (None: there is none)."""
        import sympy

        gap = sympy.numer(sympy.together(1 / first.expression - 1 / other.expression))
        for root in sympy.roots(gap, symbol):
            if abs(evaluated(root, self.values) / near - 1) <= ROOT:
                return sympy.factor_terms(root)
        return None

    @cached_property
    def _knobs(self) -> set[str]:
        return {*self.values} - self.demands

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form: expressions as text and LaTeX, with their present values."""

        def one(f: Formula) -> dict[str, Any]:
            return {
                "name": f.name, "formula": str(f.expression), "latex": f.latex, "today": f.today, "unit": f.unit,
                "held": dict(f.held),
            }  # fmt: skip

        return {
            "design": self.design, "workload": self.workload,
            "ceilings": [one(f) for f in self.ceilings.values()],
            "latency": None if self.latency is None else one(self.latency),
            "latency_parts": [one(f) for f in self.parts.values()],
            "elasticities": [
                {"knob": knob, "formula": str(e), "today": evaluated(e, self.values)}
                for knob in sorted(map(str, self.binds.expression.free_symbols))
                if knob in self._knobs - self.binds.held.keys()
                for e in [self.elasticity(knob)]
            ] if self.ceilings else [],
            "crossings": [
                {"knob": c.knob, "binds": c.binds, "other": c.other, "formula": str(c.expression), "value": c.value,
                 "below": c.below} for c in (self.crossings if self.ceilings else ())
            ],
            "values": dict(self.values), "refused": dict(self.refused), "given": dict(self.assumed),
        }  # fmt: skip

    def __str__(self) -> str:
        shown = self._lowest()
        lines = [f"{self.design} under {self.workload}: ceilings in packets/s, lowest first", *map(str, shown)]
        if len(self.ceilings) > len(shown):
            lines.append(f"({len(self.ceilings) - len(shown)} higher ones: --json)")
        if self.latency is not None:
            parts = (f"  {f}" for f in self.parts.values())
            lines += ["", "latency without contention, in s", str(self.latency), *parts]
        if self.ceilings and self.crossings:
            lines += ["", "where the next ceiling takes over", *map(str, self.crossings)]
        if demands := [f"{name} = {value:.6g}" for name, value in self.values.items() if name not in self._knobs]:
            lines += ["", f"a packet asks for {', '.join(demands)}"]
        settings = ("acts in steps, held at", self.held), ("choices and tables as they stand", self.assumed)
        for about, values in settings:
            if values:
                lines.append(f"{about}: " + ", ".join(f"{name} = {value}" for name, value in values.items()))
        lines += [f"no formula of {name}: {why}" for name, why in self.refused.items()]
        return "\n".join(lines)

    __repr__ = __str__

    def _lowest(self) -> list[Formula]:
        """Return the lowest ceilings; the ceiling of the threads contains the symbol `latency`."""
        import sympy

        lowest = list(self.ceilings.values())[:MOST_SHOWN]
        if self.latency is None or len(self.parts) < 2:
            return lowest
        latency = self.latency.expression, sympy.Symbol("latency", positive=True)
        return [replace(f, expression=f.expression.subs(*latency)) if f.name == "threads" else f for f in lowest]

    def _repr_markdown_(self) -> str:
        rows = [f"| {f.name} | {_number(f.today)} {f.unit} | ${f.latex}$ |" for f in self._lowest()]
        if self.latency is not None:
            rows.append(f"| **latency**, the sum of | {_number(self.latency.today)} s | |")
            parts = sorted(self.parts.values(), key=lambda part: -part.today)[:MOST_SHOWN]
            rows += [f"| {part.name} | {_number(part.today)} s | ${part.latex}$ |" for part in parts]
        crossings = "".join(f"\n- `{crossing}`" for crossing in (self.crossings if self.ceilings else ()))
        return "\n".join(["| | today | formula |", "|---|---|---|", *rows]) + "\n" + crossings


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1e4 else f"{value:.5g}"


def shortened(expression: sympy.Expr) -> sympy.Expr:
    """Return an expression for display, with its floating-point numbers rounded to six digits."""
    import sympy

    return expression.xreplace({number: sympy.Float(number, 6) for number in expression.atoms(sympy.Float)})


def _symbols(expression: sympy.Expr, values: Mapping[str, float]) -> dict[sympy.Symbol, sympy.Expr]:
    """Return the exact values (rationals) of an expression's symbols."""
    import sympy

    return {s: sympy.Rational(values[str(s)]) for s in expression.free_symbols if str(s) in values}


def evaluated(expression: sympy.Expr, values: Mapping[str, float]) -> float:
    """Return the value of an expression (nan: not real); values: by name of symbol."""
    known = {symbol: values[str(symbol)] for symbol in expression.free_symbols}
    value = complex(expression.evalf(30, subs=known))
    return value.real if abs(value.imag) <= EXACT * abs(value) else float("nan")
