"""Fits named parameters to calibration rows: least squares over intervals, several starts, and profiles.

    minimise  sum over rows of outside^2 + (TIGHT x error)^2        error, outside: study/checking/fitted_rows.py

A row inside its interval has little weight: TIGHT only decides between equally good fits. Scipy's trust region (Branch,
Coleman and Li 1999) fits the logarithms of real numbers; integers and choices are enumerated. All points use the same
fit seeds, so that the sum is nearly smooth; the result is evaluated again with other seeds.
Profile of a parameter: the smallest score with the parameter fixed at a value and the others fitted again (as in a
profile likelihood). A value is admissible if its score is within SLACK of the best.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares
from scipy.stats import qmc

from npexplore.designs import DESIGNS, design
from npexplore.errors import InputError, NpexploreError, UnknownNameError, one_of
from npexplore.ledger import Facts, Row
from npexplore.machine.parameters import Parameter, Value
from npexplore.records import content_hash
from npexplore.results import Result, plain
from npexplore.study.checking.fitted_rows import Judge, fitted_keys, score
from npexplore.study.sweeping.grid import SOLVERS, Span

Floats = npt.NDArray[np.float64]
TIGHT = 0.05
SLACK = 0.005  # of the score: half a percent is the uncertainty from the seeds of a short run
STEP = 0.01  # relative step of a parameter for slopes, larger than the effect of single packets
EVALUATIONS = 25  # maximal evaluations of the sum in one fit
IMPOSSIBLE = 10.0  # error of every row where the machine has no answer
PROFILE = 5  # values of a real parameter on its profile, over its range


Free = Span | tuple[Value, ...]


@dataclass(frozen=True)
class Fit:
    """The result of one start. values: the parameters; errors: relative, by row; score: their root mean square.

    Example:
        >>> from npexplore.study import Fit
        >>> Fit({"banks": 4}, {"row": 0.01}, 0.01, 0.0).score
        0.01
    """

    __hash__ = content_hash

    values: Mapping[str, Value]
    errors: Mapping[str, float]
    score: float
    cost: float  # the minimised sum


@dataclass(frozen=True)
class Calibration(Result):
    """The fitted parameters with their errors, and other values that fit the rows almost as well.

    fits: one for each start and combination of choices, best first. evaluation: relative errors of the best fit with
    the evaluation seeds, `evaluation_score` their root mean square. profile: for each parameter, (value, score) pairs.
    admissible: for each parameter, the sorted values whose score is within SLACK of the best.

    Example:
        >>> import npexplore as npx
        >>> row = "ixp2400.fig9.bandwidth.n0"
        >>> fit = npx.calibrate({"banks": [4, 8]}, [row], of="ixp2400_dram", solver="bounds", profiles=False)
        >>> fit.rows
        ('ixp2400.fig9.bandwidth.n0',)
    """

    __hash__ = content_hash

    free: Mapping[str, Free]
    rows: tuple[str, ...]
    fits: tuple[Fit, ...]
    evaluation: Mapping[str, float]
    fit_seeds: tuple[int, ...]
    evaluation_seeds: tuple[int, ...]
    profile: Mapping[str, tuple[tuple[Value, float], ...]] = field(default_factory=dict)

    @property
    def best(self) -> Fit:
        """The fit with the smallest sum."""
        return self.fits[0]

    @property
    def evaluation_score(self) -> float:
        """Root mean square of the errors with the evaluation seeds."""
        return score(self.evaluation)

    @property
    def admissible(self) -> dict[str, list[Value]]:
        """For each parameter, the tried values that the rows do not rule out."""
        max_score = self.best.score + SLACK
        tried: dict[str, set[Value]] = {name: set() for name in self.free}
        for fit in self.fits:
            if fit.score <= max_score:
                for name, value in fit.values.items():
                    tried[name].add(value)
        for name, line in self.profile.items():
            tried[name] |= {value for value, profile_score in line if profile_score <= max_score}
        return {name: sorted(values, key=lambda v: (isinstance(v, str), v)) for name, values in tried.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document of `npexplore calibrate`."""
        document = {
            "free": {name: _as_document(free) for name, free in self.free.items()}, "values": dict(self.best.values),
            "score": self.best.score, "evaluation_score": self.evaluation_score,
            "rows": [{"key": key, "error": self.best.errors[key], "evaluation_error": self.evaluation[key]}
                     for key in self.rows],
            "admissible": self.admissible,
            "profile": {name: [{"value": v, "score": s} for v, s in line] for name, line in self.profile.items()},
            "starts": [{"values": dict(fit.values), "score": fit.score} for fit in self.fits],
            "fit_seeds": self.fit_seeds, "evaluation_seeds": self.evaluation_seeds,
        }  # fmt: skip
        return {name: plain(value) for name, value in document.items()}

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each fit: parameters, relative error of each row, score."""
        return [{**fit.values, **fit.errors, "score": fit.score} for fit in self.fits]


def _as_document(free: Free) -> Any:
    return {"low": free.low, "high": free.high} if isinstance(free, Span) else list(free)


def calibrate(
    free: Mapping[str, Free | Sequence[Value]],
    keys: Sequence[str] | None = None,
    *,
    of: str | None = None,
    own: Sequence[Row] = (),
    known: Facts | None = None,
    starts: int = 3,
    fit_seeds: Sequence[int] = (1,),
    evaluation_seeds: Sequence[int] = (101, 102, 103),
    packets: int = 2000,
    solver: str = "simulation",
    profiles: bool = True,
    seed: int = 1,
    executor: Executor | None = None,
    progress: Callable[[int], None] | None = None,
) -> Calibration:
    """Return parameters fitted to calibration rows of the ledger, and how well the rows determine them.

    Args:
        free: for each parameter's name a `Span` or the values to try.
        keys: the ledger rows to fit to (None: the rows that the machine file of `of` names for these parameters).
        of: the listed design whose machine file gives the rows if `keys` is None.
        own: rows of a user's own ledger, fitted together with the published rows.
        known: the rows that a model may read (None: those of the project's ledger).
        starts: number of starting points: the present values, and Latin hypercube points over the spans.
        fit_seeds: seeds of the simulations during the search.
        evaluation_seeds: other seeds, with which the result is evaluated.
        packets: simulated packets for each point.
        solver: "bounds", "queueing" or "simulation".
        profiles: also find the values of each parameter that fit almost as well.
        seed: seed of the search.
        executor: a `concurrent.futures` executor that runs the predictions (None: threads).
        progress: called with the number of evaluations so far.

    Raises:
        InputError: a row whose role is not calibration, no rows, a seed used both to fit and to evaluate,
            or a value out of range.
        UnknownNameError: a parameter that no design of the rows has.

    Example:
        >>> import npexplore as npx
        >>> found = npx.calibrate({"hash_ns": [120.0, 148.0]}, ["ixp2400.fig15.throughput.w128_b4"],
        ...                       solver="bounds", profiles=False)
        >>> found.best.values
        {'hash_ns': 148.0}
    """
    if not free:
        raise InputError("calibrate needs at least one free parameter")
    one_of("solver", solver, SOLVERS)
    if shared_seeds := sorted(set(fit_seeds) & set(evaluation_seeds)):
        raise InputError(f"seeds to fit and to evaluate must differ, got {shared_seeds[0]} for both")
    if starts < 1 or not fit_seeds or not evaluation_seeds:
        raise InputError(f"calibrate needs at least one start and one seed of each kind, got {starts} starts")
    judge = Judge.of(keys if keys is not None else _rows_of(of, free), known, own)
    if not judge.rows:
        raise InputError(f"no calibration rows are known for {', '.join(free)}; name the rows to fit to")
    fitter = _Fitter(judge, _checked(judge, free), tuple(fit_seeds), packets, solver, executor, progress)
    fits = fitter.search(starts, seed)
    evaluation = judge.errors(
        judge.predict(fits[0].values, seeds=evaluation_seeds, packets=packets, solver=solver, executor=executor)
    )
    return Calibration(
        fitter.free, tuple(row.key for row, _ in judge.rows), tuple(fits), evaluation, tuple(fit_seeds),
        tuple(evaluation_seeds), fitter.profiles(fits[0]) if profiles else {},
    )  # fmt: skip


def _rows_of(of: str | None, free: Mapping[str, Any]) -> list[str]:
    if of is None:
        raise InputError("calibrate needs rows, or the design whose machine file names them")
    parameters = design(of).parameters.file.parameter
    for name in free:
        if name not in parameters:
            raise UnknownNameError(f"parameter of {of}", name, parameters)
    # a value that the user set has no fitted rows, so the listed design's rows count too
    listed = DESIGNS[of]().parameters.file.parameter if of in DESIGNS else {}
    fitted = [key for name in free for p in (parameters, listed) if name in p for key in fitted_keys(p[name])]
    return list(dict.fromkeys(fitted))


def _checked(judge: Judge, free: Mapping[str, Free | Sequence[Value]]) -> dict[str, Free]:
    """Return the free parameters with values in their own types; raises for an unknown name or a value out of range."""
    parameters: dict[str, Parameter] = {}
    for name in judge.designs:
        parameters |= {k: v for k, v in design(name).parameters.file.parameter.items() if k not in parameters}
    free_values: dict[str, Free] = {}
    for name, choice in free.items():
        if name not in parameters:
            raise UnknownNameError(f"parameter of {', '.join(judge.designs)}", name, parameters)
        parameter = parameters[name]
        if not isinstance(choice, Span):
            free_values[name] = tuple(dict.fromkeys(parameter.check(name, value) for value in choice))
            if not free_values[name]:
                raise InputError(f"parameter {name} needs at least one value")
            continue
        low, high = (parameter.check(name, end) for end in (choice.low, choice.high))
        if isinstance(parameter.value, str) or isinstance(low, str) or isinstance(high, str):
            raise InputError(f"parameter {name} is a choice; give its values one by one")
        if not 0 < low < high:
            raise InputError(f"span of {name} must have 0 < low < high, got {low:g}..{high:g}")
        is_integer = isinstance(parameter.value, int)
        free_values[name] = tuple(range(int(low), int(high) + 1)) if is_integer else Span(float(low), float(high))
    return free_values


@dataclass
class _Fitter:
    """Fits parameters; caches the errors of each set of values, and each design's rows by its own parameters."""

    judge: Judge
    free: dict[str, Free]
    seeds: tuple[int, ...]
    packets: int
    solver: str
    executor: Executor | None
    progress: Callable[[int], None] | None
    seen: dict[tuple[Value, ...], tuple[dict[str, float], dict[str, float]]] = field(default_factory=dict)
    predicted: dict[tuple[object, ...], dict[str, float]] = field(default_factory=dict)

    def judged(self, values: Mapping[str, Value]) -> tuple[dict[str, float], dict[str, float]]:
        """Return (errors, outside) of every row at some values; IMPOSSIBLE where the machine has no answer."""
        point = tuple(values[name] for name in self.free)
        if point not in self.seen:
            try:
                predicted = self._predict(values)
                self.seen[point] = self.judge.errors(predicted), self.judge.outside(predicted)
            except NpexploreError:
                if not self.seen:  # no evaluation succeeded yet, so the error may be in the arguments
                    raise
                impossible = {row.key: IMPOSSIBLE for row, _ in self.judge.rows}
                self.seen[point] = impossible, impossible
            if self.progress is not None:
                self.progress(len(self.seen))
        return self.seen[point]

    def _predict(self, values: Mapping[str, Value]) -> dict[str, float]:
        rows: dict[str, float] = {}
        for name in self.judge.designs:
            parameters = design(name).parameters
            own_values = {knob: value for knob, value in values.items() if knob in parameters}
            key = (name, *own_values.items())
            if key not in self.predicted:
                self.predicted[key] = self.judge.of_design(name).predict(
                    own_values, seeds=self.seeds, packets=self.packets, solver=self.solver, executor=self.executor
                )
            rows |= self.predicted[key]
        return rows

    def residuals(self, values: Mapping[str, Value]) -> Floats:
        errors, outside = self.judged(values)
        return np.array([*outside.values(), *(TIGHT * error for error in errors.values())])

    def fit(self, start: Mapping[str, Value]) -> Fit:
        """Return the fit from a start: parameters with spans are fitted, all others keep their values."""
        spans = {name: free for name, free in self.free.items() if isinstance(free, Span) and free.low < free.high}
        values = dict(start)
        if spans:
            low, high = (np.log([getattr(span, end) for span in spans.values()]) for end in ("low", "high"))

            def at(x: Floats) -> dict[str, Value]:
                return {**start, **{name: float(np.exp(v)) for name, v in zip(spans, x, strict=True)}}

            inside = np.clip(np.log([float(start[name]) for name in spans]), low + 1e-9, high - 1e-9)
            solved = least_squares(
                lambda x: self.residuals(at(x)), inside, bounds=(low, high), max_nfev=EVALUATIONS, xtol=1e-4, ftol=1e-6,
                diff_step=STEP / np.maximum(abs(inside), STEP),
            )  # fmt: skip
            values = at(solved.x)
        errors, _ = self.judged(values)
        return Fit(values, errors, score(errors), float(np.sum(self.residuals(values) ** 2)))

    def search(self, starts: int, seed: int) -> list[Fit]:
        """Return the fits from all starts and combinations of choices, best first."""
        spans = {name: free for name, free in self.free.items() if isinstance(free, Span)}
        choices = {name: free for name, free in self.free.items() if not isinstance(free, Span)}
        points: list[dict[str, float]] = [{name: self._present(name, span) for name, span in spans.items()}]
        if spans and starts > 1:
            cube = qmc.LatinHypercube(len(spans), rng=np.random.default_rng(seed)).random(starts - 1)
            for row in cube:
                coordinates = zip(spans.items(), row, strict=True)
                points.append({name: float(span.low * (span.high / span.low) ** u) for (name, span), u in coordinates})
        fits = [
            self.fit({**point, **dict(zip(choices, choice, strict=True))})
            for choice in product(*choices.values())
            for point in points
        ]
        return sorted(fits, key=lambda fit: fit.cost)

    def _present(self, name: str, span: Span) -> float:
        for design_name in self.judge.designs:
            parameters = design(design_name).parameters
            if name in parameters:
                return min(max(float(parameters[name]), span.low), span.high)
        raise UnknownNameError("parameter", name, self.free)

    def profiles(self, best: Fit) -> dict[str, tuple[tuple[Value, float], ...]]:
        """Return for each parameter its (value, smallest score) pairs; the other parameters start from the best fit."""
        profiles = {}
        for name, free in self.free.items():
            values: Sequence[Value] = (
                [float(v) for v in np.geomspace(free.low, free.high, PROFILE)] if isinstance(free, Span) else free
            )
            score_by_value = {best.values[name]: best.score}
            for value in values:
                fitter = _Fitter(
                    self.judge, {**self.free, name: (value,)}, self.seeds, self.packets, self.solver, self.executor,
                    None, self.seen, self.predicted,
                )  # fmt: skip
                score_by_value.setdefault(value, fitter.fit({**best.values, name: value}).score)
            profiles[name] = tuple(sorted(score_by_value.items(), key=lambda item: (isinstance(item[0], str), item[0])))
        return profiles
