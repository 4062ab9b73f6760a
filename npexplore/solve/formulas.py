"""Formulas for users: expressions with their present values, elasticities, and where two ceilings cross.

    elasticity = d ln C / d ln k        ceilings C1, C2 cross where 1/C1 - 1/C2 = 0 in one knob, all others as they are

Both are found from the expressions themselves (SymPy), in closed form.
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

EXACT = 1e-12  # relative: what a formula may differ from the demands
ROOT = 1e-9  # relative: what a crossing in closed form may differ from the one that was looked for
FARTHEST = 100.0  # times a knob's value, where ceilings may cross
MOST_SHOWN = 8


class _Sent:
    """Base of records whose expression is sent and copied as it is: SymPy's own way rewrites sums on arrival."""

    def __reduce__(self) -> tuple[Any, ...]:
        content = {name: _parts(one) if name == "expression" else one for name, one in vars(self).items()}
        return _received, (type(self), content)


def _parts(expression: sympy.Basic) -> Any:
    """Return an expression as nested tuples of what it is made by; symbols and numbers are themselves."""
    return (expression.func, *map(_parts, expression.args)) if expression.args else expression


def _joined(parts: Any) -> Any:
    """Return the expression of such parts, without simplifying anything."""
    return parts[0](*map(_joined, parts[1:]), evaluate=False) if isinstance(parts, tuple) else parts


def _received(kind: type[_Sent], content: dict[str, Any]) -> Any:
    return kind(**content | {"expression": _joined(content["expression"])})


@dataclass(frozen=True)
class Formula(_Sent):
    """One number as an expression of knobs and of packets' demands, with its present value.

    held: knobs that act on it in steps, and the values for which the formula is valid.

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
    """Where another ceiling becomes the lowest: the knob's value there, and on which side of it the first one binds."""

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
        """Knobs that act in steps on some of the numbers, and the values for which these formulas are valid."""
        shown = [*self.ceilings.values(), *([self.latency] if self.latency else [])]
        return {knob: value for one in shown for knob, value in one.held.items()}

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
        """For each knob, changed alone, where the lowest ceiling crosses the next one."""
        import sympy

        first, crossings = self.binds, []
        for symbol in sorted(first.expression.free_symbols, key=str):
            if str(symbol) not in self._knobs or str(symbol) in first.held:
                continue
            here, known = self.values[str(symbol)], {k: v for k, v in self.values.items() if k != str(symbol)}
            near: list[tuple[float, float, Formula]] = []
            for other in self.ceilings.values():
                if other is first or str(symbol) in other.held:
                    continue
                numbers = [one.expression.xreplace(_symbols(one.expression, known)) for one in (first, other)]
                gap = sympy.numer(sympy.together(1 / numbers[0] - 1 / numbers[1]))
                for root in sympy.Poly(gap, symbol).nroots(n=15) if gap.has(symbol) else ():
                    if root.is_real and 1 / FARTHEST < root / here < FARTHEST and abs(root / here - 1) > EXACT:
                        near.append((abs(log(root / here)), float(root), other))
            for _, at, other in sorted(near, key=lambda one: one[0]):
                root = self._root(first, other, symbol, at)
                if root is not None:
                    value = evaluated(root, self.values)
                    crossings.append(Crossing(str(symbol), first.name, other.name, root, value, value > here))
                    break
        return tuple(crossings)

    def _root(self, first: Formula, other: Formula, symbol: sympy.Symbol, near: float) -> sympy.Expr | None:
        """Return in closed form where two ceilings cross near a value of a knob; None where there is no such form."""
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
        """Return the lowest ceilings, that of the threads in terms of the latency."""
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
    """Return an expression as people read it: numbers that are no short fraction with six digits."""
    import sympy

    return expression.xreplace({number: sympy.Float(number, 6) for number in expression.atoms(sympy.Float)})


def _symbols(expression: sympy.Expr, values: Mapping[str, float]) -> dict[sympy.Symbol, sympy.Expr]:
    """Return the exact numbers of an expression's symbols."""
    import sympy

    return {s: sympy.Rational(values[str(s)]) for s in expression.free_symbols if str(s) in values}


def evaluated(expression: sympy.Expr, values: Mapping[str, float]) -> float:
    """Return an expression's number (nan: it is not real); values: by name of symbol."""
    known = {symbol: values[str(symbol)] for symbol in expression.free_symbols}
    value = complex(expression.evalf(30, subs=known))
    return value.real if abs(value.imag) <= EXACT * abs(value) else float("nan")
