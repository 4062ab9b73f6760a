"""Finds formulas of the knobs and the packet for a machine's ceilings and light-load latency, from its demands.

    seconds at a server = sum of coefficients x monomials; each knob is in a monomial as k, 1/k, k^2, 1/k^2, or absent

Demands without contention are rational functions of most knobs: times are added and multiplied by counts. The search
evaluates the demands with one knob, several knobs, and all interacting knobs changed, and so determines the monomials.
The coefficients then solve a linear system with as many equations as unknowns (no fit), and are written as fractions
times packets' demands (such as `dram.bytes`). Every formula is checked against the demands at further points, to 1e-12.
A knob that acts in steps (such as cell sizes) is held at its value and listed; a number without a formula is refused.
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

SAMPLES = 4  # further values of a knob that a basis of two exponents must reproduce, if the knob has so many
BASES: tuple[tuple[int, ...], ...] = ((1,), (-1,), (1, -1), (1, 2), (-1, -2))  # exponents of a knob besides 0
MOST_TOGETHER = 9  # largest group of interacting knobs
CHECKS, SPAN = 6, (0.7, 1.6)  # number of check points; range of the random factors of the knobs' values
DENOMINATORS = 60, 999  # largest denominators of coefficients as fractions, tried in this order
CLOSE = Fraction(1, 2 * 10**12)  # largest relative difference between a coefficient and its fraction


def formulas(
    design: DesignLike, workload: WorkloadLike | None = None, *, progress: Callable[[int], None] | None = None
) -> Formulas:
    """Return the formulas of a machine under a workload; progress: called with the number of evaluations so far.

    Raises RefusedError for a machine without demands.
    """
    machine = design_of(design)
    search = _Search(Asked(machine, machine.packets(workload), progress))
    expressions = search.expressions(list(search.today))
    search.check(expressions)
    return search.result(expressions)


Found = TypeVar("Found")
Finding = Generator[list[Want], list[float], Found]  # yields requested points, receives the numbers there (nan: none)


class _HeldError(Exception):
    """A number has no formula: the machine cannot be evaluated at a point that is needed."""


def _side_by_side(tasks: Sequence[Finding[Found]]) -> Finding[list[Found]]:
    """Run several tasks in lockstep, so that their requests are evaluated together; return their results in order."""
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
        numbers = iter((yield [want for numbers_wanted in wants.values() for want in numbers_wanted]))
        sent = {k: list(islice(numbers, len(numbers_wanted))) for k, numbers_wanted in wants.items()}


class _Search:
    """Finds expressions of a machine's numbers. held: knobs held at their value, by number. reason: why none exists."""

    def __init__(self, machine: Asked) -> None:
        self.machine, self.at, self.today, self.design = machine, machine.at, machine.today, machine.design
        self.held: dict[str, dict[str, Value]] = {name: {} for name in self.today}
        self.reason: dict[str, str] = {}
        self.used: dict[str, float] = {}

    def expressions(self, names: Sequence[str]) -> dict[str, sympy.Expr | None]:
        """Return the expressions of some numbers, None for a number without one (its reason is in `reason`)."""
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
        """Return a knob's exponents in a number, and the knob's values for the linear system; None: no basis fits."""
        points, values = [self.at[knob]], [self.today[name]]
        for value in self.machine.values(knob):
            (number,) = yield [(name, {knob: value})]
            if isnan(number):
                if value == self.machine.first[knob]:
                    return None
                continue
            points.append(value)
            values.append(number)
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
        """Return the groups of knobs that interact with a knob: its effect differs while their knobs are changed."""
        if not groups:
            return []
        first = self.machine.first
        rest = {other: first[other] for group in groups for other in group}
        both, others, alone = yield [(name, {**rest, knob: first[knob]}), (name, rest), (name, {knob: first[knob]})]
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
        """Return coefficients by monomial (exponents in `nodes`' order). nodes, bases: knobs' values, exponents."""
        points = [dict(zip(nodes, at, strict=True)) for at in product(*nodes.values())]
        changed = [{knob: x for knob, x in at.items() if x != self.at[knob]} for at in points]
        values = np.array((yield [(name, changes) for changes in changed]))
        if np.isnan(values).any():
            raise _HeldError
        table = values.reshape([len(n) for n in nodes.values()])
        for axis, (knob, at) in enumerate(nodes.items()):
            inverse = np.linalg.inv((np.array(at) / at[0])[:, None] ** np.array([0, *bases[knob]]))
            table = np.moveaxis(np.tensordot(inverse, table, axes=(1, axis)), 0, axis)
        monomials, negligible = product(*((0, *bases[knob]) for knob in nodes)), EXACT * float(np.abs(values).max())
        return {powers: float(c) for powers, c in zip(monomials, table.ravel(), strict=True) if abs(c) > negligible}

    def expression(self, name: str) -> Finding[sympy.Expr | None]:
        """Return a number's expression; None if it has none (its reason is in `reason`)."""
        try:
            return (yield from self._expression(name))
        except _HeldError:
            self.reason[name] = "there is no machine at some of the points that tell it"
        return None

    def _expression(self, name: str) -> Finding[sympy.Expr | None]:
        import sympy

        features, held, touching_knobs = self._features(name), self.held[name], self.machine.touched.get(name, set())
        for knob in self.at:
            if not self.machine.more.get(knob, set()).isdisjoint(features):
                held[knob] = self.design.parameters[knob]
        knobs = [knob for knob in self.at if knob in touching_knobs and knob in self.machine.first and knob not in held]
        of_knobs = yield from _side_by_side([self.basis(name, knob) for knob in knobs])
        basis_of = {knob: basis for knob, basis in zip(knobs, of_knobs, strict=True) if basis is not None}
        held.update({knob: self.design.parameters[knob] for knob in knobs if knob not in basis_of})
        groups: list[Sequence[str]] = []
        for knob in basis_of:
            joined = yield from self.joined(name, knob, groups)
            groups = [group for group in groups if group not in joined] + [[*chain(*joined), knob]]
        if any(len(group) > MOST_TOGETHER for group in groups):
            self.reason[name] = f"more than {MOST_TOGETHER} knobs act on it together"
            return None
        bases, nodes = ({knob: b[0] for knob, b in basis_of.items()}, {knob: b[1] for knob, b in basis_of.items()})
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
        """Return the packets' requests to the resource of a number, with their amounts."""
        server, features = name.rpartition(" ")[2], self.machine.features
        requests = {f: a for f, a in features.items() if f.startswith(f"{server.partition('.')[0]}.")}
        requests |= {f: features.get(f, 0.0) for f in (f"visits({server})", "packet.bytes")}
        return {feature: amount for feature, amount in requests.items() if amount}

    def _coefficient(self, number: float, features: Numbers) -> sympy.Expr:
        """Return a coefficient as a fraction, as a fraction times a packets' demand, or else as a decimal number."""
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

    # ---- checking and results

    def check(self, expressions: dict[str, sympy.Expr | None]) -> None:
        """Compare the expressions with the demands at further points, and find those that differ again."""
        import sympy

        rng = np.random.default_rng(1)
        for _ in range(CHECKS):
            at = self._anywhere(rng)
            names_seen = {name for answer in self.machine.answers.values() if answer for name in answer[0]}
            for name in sorted(names_seen - expressions.keys()):  # formulas are the same in every process
                if name.startswith("way "):  # a time that is 0 at the present values of the knobs
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
        for name, present in self.at.items():
            p, (smallest, largest) = self.machine.parameters[name], SPAN
            low = smallest * present if p.min is None else max(smallest * present, p.min)
            high = largest * present if p.max is None else min(largest * present, p.max)
            value = float(rng.choice(p.choices) if p.choices else rng.uniform(low, high))
            point[name] = max(float(round(value)), 1.0) if isinstance(p.value, int) else value
        return {knob: value for knob, value in point.items() if value != self.at[knob]}

    @staticmethod
    def _own(expression: sympy.Expr, at: Mapping[str, float]) -> Numbers:
        names = {str(symbol) for symbol in expression.free_symbols}
        return {knob: value for knob, value in at.items() if knob in names}

    def _wrong(self, together: Together, at: Numbers, expressions: Mapping[str, sympy.Expr | None]) -> list[str]:
        """Return the numbers that differ from their expressions, after holding a knob or recording the reason."""
        points = [{k: v for k, v in at.items() if k not in together.left}, together.point]  # idle knobs too if possible
        point = next((p for p in points if self.machine.ask(p) is not None), None)
        differing = []
        for name, own_changes in together.wants:
            changes = own_changes if point is None else point
            if self._differs(name, expressions[name], changes):
                differing.append(name)
                self._blame(name, expressions[name], changes, own_changes)
        return differing

    def _blame(self, name: str, expression: sympy.Expr, changes: Mapping[str, float], own: Mapping[str, float]) -> None:
        """Hold the knob whose change first makes a number differ from its expression."""
        # bisect: with the knobs of `inside` the number is right, with all knobs of `whole` it is wrong
        inside, whole = ({}, own) if self._differs(name, expression, own) else (own, changes)
        others = [knob for knob in whole if knob not in inside]
        right, wrong = 0, len(others)
        while wrong - right > 1:
            middle = (right + wrong) // 2
            changed = {**inside, **{knob: whole[knob] for knob in others[:middle]}}
            right, wrong = (right, middle) if self._differs(name, expression, changed) else (middle, wrong)
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
        """Return the formulas of the ceilings and of the latency from the expressions of their parts."""
        import sympy

        ceilings: dict[str, Formula] = {}
        refused: dict[str, str] = {}
        u = self.machine.under_load
        make: Callable[..., sympy.Expr]

        def formula(
            name: str, of: Sequence[str], make: Callable[..., sympy.Expr], unit: str, today: float
        ) -> Formula | None:
            if missing := [part for part in of if expressions[part] is None]:
                refused[name] = self.reason[missing[0]]
                return None
            held = {knob: value for part in of for knob, value in self.held[part].items()}
            expression = make(*(expressions[part] for part in of))
            return Formula(name, expression, unit, today, held)

        def service_rate(units: sympy.Expr, seconds: sympy.Expr) -> sympy.Expr:
            return sympy.factor_terms(sympy.together(units / seconds))

        times = [time for time in expressions if time.startswith("way ") and not time.startswith("way of ")]
        for name, rate in sorted(u.ceilings().items(), key=lambda item: item[1]):
            if name in u.servers:
                of, make = [f"units {name}", f"seconds {name}"], service_rate
            else:
                pool = name.partition(".")[2] or u.machine.pools[0].name
                times_of_pool = [time for time in expressions if time.startswith(f"way of {pool} ")]
                of, make = [f"count {pool}", *(times_of_pool or times)], lambda n, *s: n / sympy.Add(*s)
            if (ceiling := formula(name, of, make, "packets/s", rate)) is not None:
                ceilings[name] = ceiling
        time_formulas = [formula(name.rpartition(" ")[2], [name], lambda s: s, "s", self.today[name]) for name in times]
        parts = {name: p for name, p in zip(times, time_formulas, strict=True) if p is not None and p.expression != 0}
        latency = formula("latency", times, lambda *s: sympy.Add(*s), "s", u.demands.latency)
        formulas_shown = [*ceilings.values(), *([latency] if latency else []), *parts.values()]
        symbols = {str(symbol) for formula in formulas_shown for symbol in formula.expression.free_symbols}
        values = {name: value for name, value in {**self.at, **self.used}.items() if name in symbols}
        return Formulas(
            self.design.name, u.workload.name, ceilings, latency, parts, values, refused, self.machine.choices,
            frozenset(self.used),
        )  # fmt: skip


def _differ(a: float, b: float) -> bool:
    return not abs(a - b) <= EXACT * max(abs(a), abs(b))


def _fraction(number: float, longest: int) -> Fraction | None:
    """Return a number as a power of ten times a fraction with denominator <= longest; None if none is close."""
    if number == 0:
        return Fraction(0)
    power = 2 - floor(log10(abs(number)))
    scaled = Fraction(number) * Fraction(10) ** power
    nearest = scaled.limit_denominator(longest)
    return nearest / Fraction(10) ** power if abs(nearest - scaled) <= CLOSE * abs(scaled) else None
