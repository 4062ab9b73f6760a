"""Ceilings and light-load latency as formulas of the knobs and of the packet, found from a machine's demands.

    seconds at a server = sum of coefficients x monomials, each knob in it as k, 1/k, k^2, or not at all

Demands without contention are rational functions of most knobs: times are added, and multiplied with counts. Which
monomials there are is found by asking for the demands where one knob, some, and all that act together are changed;
coefficients then follow exactly (no fit: as many equations as unknowns), and are written as fractions times packets'
demands (`dram.bytes`). Every formula is compared with the demands at further points, to 1e-12. A knob that acts in
steps (cells of so many bytes) is held at its value and named; a number without such a formula is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from fractions import Fraction
from itertools import chain, islice, product
from math import floor, isnan, log10, nan, prod
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from npexplore.designs import DesignLike
from npexplore.designs import design as design_of
from npexplore.machine.parameters import Value
from npexplore.machine.workload_sources import WorkloadLike
from npexplore.solve.formulas import EXACT, Formula, Formulas, evaluated
from npexplore.study.formulas.asking import Asked, Numbers, Together, Want

if TYPE_CHECKING:
    import sympy

SAMPLES = 4  # values of a knob beside its own that more than one exponent must pass through, as far as there are some
BASES: tuple[tuple[int, ...], ...] = ((1,), (-1,), (1, -1), (1, 2), (-1, -2))  # exponents of a knob beside 0
MOST_TOGETHER = 9  # knobs that act together
CHECKS, SPAN = 6, (0.7, 1.6)  # further points, at random multiples of the values
DENOMINATORS = 60, 999  # of fractions that a coefficient is told as: plain first, then longer ones
CLOSE = Fraction(1, 2 * 10**12)  # relative: what a coefficient may differ from a fraction


def formulas(
    design: DesignLike, workload: WorkloadLike | None = None, *, progress: Callable[[int], None] | None = None
) -> Formulas:
    """Return the formulas of a machine under a workload; progress receives how often the machine was evaluated.

    Raises RefusedError where there are no demands.
    """
    machine = design_of(design)
    search = _Search(Asked(machine, machine.packets(workload), progress))
    expressions = search.expressions(list(search.today))
    search.check(expressions)
    return search.result(expressions)


Found = TypeVar("Found")
Finding = Generator[list[Want], list[float], Found]  # yields the points it wants, is sent the numbers there (nan: none)


class _HeldError(Exception):
    """A number has no formula: there is no machine at a point that tells it."""


def _side_by_side(tasks: Sequence[Finding[Found]]) -> Finding[list[Found]]:
    """Run several tasks at once, so that what they want is asked for together."""
    results: dict[int, Found] = {}
    sent: dict[int, list[float] | None] = dict.fromkeys(range(len(tasks)))
    while True:
        wants: dict[int, list[Want]] = {}
        for k, values in sent.items():
            try:
                wants[k] = tasks[k].send(values)  # type: ignore[arg-type]
            except StopIteration as end:
                results[k] = end.value
        if not wants:
            return [results[k] for k in range(len(tasks))]
        numbers = iter((yield [want for some in wants.values() for want in some]))
        sent = {k: list(islice(numbers, len(some))) for k, some in wants.items()}


class _Search:
    """Finds the expressions of all numbers of a machine."""

    def __init__(self, machine: Asked) -> None:
        self.machine, self.at, self.today, self.design = machine, machine.at, machine.today, machine.design
        self.held: dict[str, dict[str, Value]] = {name: {} for name in self.today}
        self.reason: dict[str, str] = {}
        self.used: dict[str, float] = {}

    def expressions(self, names: Sequence[str]) -> dict[str, sympy.Expr | None]:
        """Return the expressions of some numbers; None where there is none (`reason` says why)."""
        task, values = _side_by_side([self.expression(name) for name in names]), None
        while True:
            try:
                wants = task.send(values)  # type: ignore[arg-type]
            except StopIteration as end:
                return dict(zip(names, end.value, strict=True))
            self.machine.gather(wants)
            values = [nan if (value := self.machine.value(*want)) is None else value for want in wants]

    # ---- finding

    def basis(self, name: str, knob: str) -> Finding[tuple[tuple[int, ...], list[float]] | None]:
        """Find the exponents with which a knob is in a number, and where it was asked for; None: in no such way."""
        points, values = [self.at[knob]], [self.today[name]]
        for value in self.machine.values(knob):
            (there,) = yield [(name, {knob: value})]
            if isnan(there):
                if value == self.machine.first[knob]:
                    return None
                continue
            points.append(value)
            values.append(there)
            for exponents in BASES:
                n = len(exponents) + 1
                if n < len(points) and (len(exponents) == 1 or len(points) > SAMPLES):
                    table = (np.array(points) / points[0])[:, None] ** np.array([0, *exponents])
                    solved = np.linalg.solve(table[:n], values[:n])
                    if np.abs(table @ solved - values).max() <= EXACT * np.abs(values).max():
                        return exponents, points[:n]
            if len(points) > SAMPLES:
                break
        return None

    def joined(self, name: str, knob: str, groups: Sequence[Sequence[str]]) -> Finding[list[Sequence[str]]]:
        """Find which groups of knobs a knob acts together with: what it adds is another when they are changed."""
        if not groups:
            return []
        first = self.machine.first
        some = {other: first[other] for group in groups for other in group}
        both, others, alone = yield [(name, {**some, knob: first[knob]}), (name, some), (name, {knob: first[knob]})]
        if isnan(both + others):
            if len(groups) == 1:
                raise _HeldError
        elif abs(both - others - alone + self.today[name]) <= EXACT * max(map(abs, (both, others, alone))):
            return []
        if len(groups) == 1:
            return list(groups)
        middle = len(groups) // 2
        halves = yield from _side_by_side(
            [self.joined(name, knob, part) for part in (groups[:middle], groups[middle:])]
        )
        return [group for half in halves for group in half]

    def coefficients(self, name: str, nodes: Mapping[str, Sequence[float]], bases: Mapping[str, tuple[int, ...]]) -> (
        Finding[dict[tuple[int, ...], float]]
    ):  # fmt: skip
        """Find the coefficient of each monomial (exponents of the knobs of `nodes`), for knobs over their values."""
        points = [dict(zip(nodes, at, strict=True)) for at in product(*nodes.values())]
        changed = [{knob: x for knob, x in at.items() if x != self.at[knob]} for at in points]
        values = np.array((yield [(name, changes) for changes in changed]))
        if np.isnan(values).any():
            raise _HeldError
        table = values.reshape([len(n) for n in nodes.values()])
        for axis, (knob, at) in enumerate(nodes.items()):
            inverse = np.linalg.inv((np.array(at) / at[0])[:, None] ** np.array([0, *bases[knob]]))
            table = np.moveaxis(np.tensordot(inverse, table, axes=(1, axis)), 0, axis)
        monomials, least = product(*((0, *bases[knob]) for knob in nodes)), EXACT * float(np.abs(values).max())
        return {powers: float(c) for powers, c in zip(monomials, table.ravel(), strict=True) if abs(c) > least}

    def expression(self, name: str) -> Finding[sympy.Expr | None]:
        """Find a number's expression; None where there is none (`reason` says why)."""
        try:
            return (yield from self._expression(name))
        except _HeldError:
            self.reason[name] = "there is no machine at some of the points that tell it"
        return None

    def _expression(self, name: str) -> Finding[sympy.Expr | None]:
        import sympy

        features, held, touched = self._features(name), self.held[name], self.machine.touched.get(name, set())
        for knob in self.at:
            if not self.machine.more.get(knob, set()).isdisjoint(features):
                held[knob] = self.design.parameters[knob]
        knobs = [knob for knob in self.at if knob in touched and knob in self.machine.first and knob not in held]
        of_knobs = yield from _side_by_side([self.basis(name, knob) for knob in knobs])
        known = {knob: one for knob, one in zip(knobs, of_knobs, strict=True) if one is not None}
        held.update({knob: self.design.parameters[knob] for knob in knobs if knob not in known})
        groups: list[Sequence[str]] = []
        for knob in known:
            joined = yield from self.joined(name, knob, groups)
            groups = [group for group in groups if group not in joined] + [[*chain(*joined), knob]]
        if any(len(group) > MOST_TOGETHER for group in groups):
            self.reason[name] = f"more than {MOST_TOGETHER} knobs act on it together"
            return None
        bases, nodes = ({knob: one[0] for knob, one in known.items()}, {knob: one[1] for knob, one in known.items()})
        of_groups = yield from _side_by_side(
            [self.coefficients(name, {knob: nodes[knob] for knob in group}, bases) for group in groups]
        )
        total, constant = sympy.Integer(0), self.today[name]
        for group, coefficients in zip(groups, of_groups, strict=True):
            constant += coefficients.pop((0,) * len(group), 0.0) - self.today[name]
            for powers, coefficient in coefficients.items():
                scale = prod(self.at[knob] ** power for knob, power in zip(group, powers, strict=True))
                symbols = (sympy.Symbol(knob, positive=True) ** k for knob, k in zip(group, powers, strict=True))
                total += self._coefficient(coefficient / scale, features) * prod(symbols, start=sympy.Integer(1))
        if abs(constant) > EXACT * abs(self.today[name]) or not groups:
            total += self._coefficient(constant, features)
        return sympy.factor_terms(sympy.together(total))

    def _features(self, name: str) -> Numbers:
        """Return what packets ask a number's resource for."""
        server, features = name.rpartition(" ")[2], self.machine.features
        known = {f: a for f, a in features.items() if f.startswith(f"{server.partition('.')[0]}.")}
        known |= {f: features.get(f, 0.0) for f in (f"visits({server})", "packet.bytes")}
        return {feature: amount for feature, amount in known.items() if amount}

    def _coefficient(self, number: float, features: Numbers) -> sympy.Expr:
        """Return a coefficient as a fraction, or as one times what packets ask for; else as it is."""
        import sympy

        for longest in DENOMINATORS:
            for feature, amount in {"": 1.0, **features}.items():
                fraction = _fraction(number / amount, longest)
                if fraction is not None:
                    exact = sympy.Rational(fraction.numerator, fraction.denominator)
                    if not feature:
                        return exact
                    self.used[feature] = amount
                    return exact * sympy.Symbol(feature, positive=True)
        return sympy.Float(number, 17)

    # ---- checking and telling

    def check(self, expressions: dict[str, sympy.Expr | None]) -> None:
        """Find anew what does not give the demands at further points, where all knobs but held ones are changed."""
        import sympy

        rng = np.random.default_rng(1)
        for _ in range(CHECKS):
            at = self._anywhere(rng)
            names_seen = {name for answer in self.machine.answers.values() if answer for name in answer[0]}
            for name in sorted(names_seen - expressions.keys()):  # formulas are the same in every process
                if name.startswith("way "):  # takes time at other values of some knobs
                    expressions[name], self.today[name], self.held[name] = sympy.Integer(0), 0.0, {}
            names = [name for name, expression in expressions.items() if expression is not None]
            while names:
                wrong = [
                    name
                    for together in self.machine.packed((name, self._own(expressions[name], at)) for name in names)
                    for name in self._wrong(together, at, expressions)
                ]
                expressions |= dict.fromkeys(wrong)
                expressions |= self.expressions([name for name in wrong if name not in self.reason])
                names = [name for name in wrong if expressions[name] is not None]

    def _anywhere(self, rng: np.random.Generator) -> Numbers:
        point = {}
        for name, here in self.at.items():
            p, (least, most) = self.machine.parameters[name], SPAN
            low = least * here if p.min is None else max(least * here, p.min)
            high = most * here if p.max is None else min(most * here, p.max)
            value = float(rng.choice(p.choices) if p.choices else rng.uniform(low, high))
            point[name] = max(float(round(value)), 1.0) if isinstance(p.value, int) else value
        return {knob: value for knob, value in point.items() if value != self.at[knob]}

    @staticmethod
    def _own(expression: sympy.Expr, at: Mapping[str, float]) -> Numbers:
        names = {str(symbol) for symbol in expression.free_symbols}
        return {knob: value for knob, value in at.items() if knob in names}

    def _wrong(self, together: Together, at: Numbers, expressions: Mapping[str, sympy.Expr | None]) -> list[str]:
        """Return the numbers that are not as their expressions say, having noted why."""
        points = [{k: v for k, v in at.items() if k not in together.left}, together.point]  # idle ones too, if possible
        point = next((one for one in points if self.machine.ask(one) is not None), None)
        wrong = []
        for name, own in together.wants:
            changes = own if point is None else point
            if self._differs(name, expressions[name], changes):
                wrong.append(name)
                self._blame(name, expressions[name], changes, own)
        return wrong

    def _blame(self, name: str, expression: sympy.Expr, changes: Mapping[str, float], own: Mapping[str, float]) -> None:
        """Hold the knob with which a number is first not what its expression says."""
        # right there, wrong here: which knob makes it wrong?
        inside, whole = ({}, own) if self._differs(name, expression, own) else (own, changes)
        others = [knob for knob in whole if knob not in inside]
        right, wrong = 0, len(others)
        while wrong - right > 1:
            middle = (right + wrong) // 2
            some = {**inside, **{knob: whole[knob] for knob in others[:middle]}}
            right, wrong = (right, middle) if self._differs(name, expression, some) else (middle, wrong)
        if not others:
            self.reason[name] = "it is no number of these knobs alone"
            return
        self.machine.touches(name, others[right])
        self.held[name][others[right]] = self.design.parameters[others[right]]

    def _differs(self, name: str, expression: sympy.Expr, changes: Mapping[str, float]) -> bool:
        answer = self.machine.ask(changes)
        if answer is None or (name not in answer[0] and not name.startswith("way ")):
            return False
        return _differ(evaluated(expression, {**self.at, **self.used, **changes}), answer[0].get(name, 0.0))

    def result(self, expressions: Mapping[str, sympy.Expr | None]) -> Formulas:
        """Put ceilings and latency together."""
        import sympy

        ceilings: dict[str, Formula] = {}
        refused: dict[str, str] = {}
        u = self.machine.under_load
        make: Callable[..., sympy.Expr]

        def formula(
            name: str, of: Sequence[str], make: Callable[..., sympy.Expr], unit: str, today: float
        ) -> Formula | None:
            if missing := [one for one in of if expressions[one] is None]:
                refused[name] = self.reason[missing[0]]
                return None
            held = {knob: value for one in of for knob, value in self.held[one].items()}
            expression = make(*(expressions[one] for one in of))
            return Formula(name, expression, unit, today, held)

        def service_rate(units: sympy.Expr, seconds: sympy.Expr) -> sympy.Expr:
            return sympy.factor_terms(sympy.together(units / seconds))

        ways = [one for one in expressions if one.startswith("way ") and not one.startswith("way of ")]
        for name, rate in sorted(u.ceilings().items(), key=lambda item: item[1]):
            if name in u.servers:
                of, make = [f"units {name}", f"seconds {name}"], service_rate
            else:
                pool = name.partition(".")[2] or u.machine.pools[0].name
                own = [one for one in expressions if one.startswith(f"way of {pool} ")]
                of, make = [f"count {pool}", *(own or ways)], lambda n, *s: n / sympy.Add(*s)
            if (ceiling := formula(name, of, make, "packets/s", rate)) is not None:
                ceilings[name] = ceiling
        every = [formula(name.rpartition(" ")[2], [name], lambda s: s, "s", self.today[name]) for name in ways]
        parts = {name: p for name, p in zip(ways, every, strict=True) if p is not None and p.expression != 0}
        latency = formula("latency", ways, lambda *s: sympy.Add(*s), "s", u.demands.latency)
        shown = [*ceilings.values(), *([latency] if latency else []), *parts.values()]
        symbols = {str(symbol) for one in shown for symbol in one.expression.free_symbols}
        values = {name: value for name, value in {**self.at, **self.used}.items() if name in symbols}
        return Formulas(
            self.design.name, u.workload.name, ceilings, latency, parts, values, refused, self.machine.choices,
            frozenset(self.used),
        )  # fmt: skip


def _differ(a: float, b: float) -> bool:
    return not abs(a - b) <= EXACT * max(abs(a), abs(b))


def _fraction(number: float, longest: int) -> Fraction | None:
    """Return a number as a decimal power times a fraction with a short denominator, if it is one."""
    if number == 0:
        return Fraction(0)
    power = 2 - floor(log10(abs(number)))
    scaled = Fraction(number) * Fraction(10) ** power
    near = scaled.limit_denominator(longest)
    return near / Fraction(10) ** power if abs(near - scaled) <= CLOSE * abs(scaled) else None
