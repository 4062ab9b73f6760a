"""Finds parameters to change together where several resources are equally busy, so that no single change gains.

ties      the bottleneck, and every resource whose working time is within 1 % of the bottleneck's
settings  while a tied resource still has its old ceiling: add the single change that raises the lowest of the tied
          ceilings most, by bounds
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from npexplore.designs import Design
from npexplore.errors import InputError
from npexplore.machine.parameters import Value
from npexplore.solve.prediction import Prediction
from npexplore.study.explaining.knees import WORTH

TIE = 0.01  # ceilings and busy times that differ by a smaller share are equal
Ceilings = Mapping[str, float]  # packets/s that each resource alone allows


@dataclass(frozen=True)
class Setting:
    """A parameter's present and new value."""

    knob: str
    present: Value
    value: Value
    unit: str


@dataclass(frozen=True)
class JointChange:
    """Settings that are changed together because their resources are equally busy. gain, low, high, solver,
    bottleneck: as in `Change`.
    """

    settings: tuple[Setting, ...]
    resources: tuple[str, ...]
    gain: float
    low: float | None
    high: float | None
    solver: str
    bottleneck: str

    @property
    def least(self) -> float:
        """The lower end of the gain's interval; the gain itself if the interval is unknown."""
        return self.gain if self.low is None else self.low


def ceilings_of(bound: object) -> Ceilings:
    """Return the ceilings (packets/s) of an answer by bounds; an empty mapping for any other answer."""
    return bound.ceilings_pps if isinstance(bound, Prediction) else {}


def ties(best: Prediction, bound: object) -> list[str]:
    """Return the bottleneck and every resource whose working time is within 1 % of it: they gain only together.

    Only resources with a ceiling by bounds count. Excluded are resources blocked by packets that wait elsewhere, pools
    of threads, and gates at which packets wait for resources that other packets hold.
    """
    name, shares, ceilings = best.bottleneck, best.utilization, ceilings_of(bound)
    if name not in shares or name.startswith("threads"):
        return [name]
    working = {  # working share of the most loaded member, if bounds know it
        other: max(share.busy - share.blocked, best.rate_pps / ceilings.get(other, float("inf")))
        for other, share in shares.items()
    }
    others = (other for other in working if other in ceilings and not other.startswith("threads") and other != name)
    return [name, *(other for other in others if abs(working[other] - working[name]) <= TIE * working[name])]


def settings_of(design: Design, values: Mapping[str, Value]) -> tuple[Setting, ...]:
    """Return the present and the new value of each changed parameter."""
    units = {name: design.parameters.file.parameter[name].unit for name in values}
    return tuple(Setting(name, design.parameters[name], value, units[name]) for name, value in values.items())


def joint_settings(
    design: Design, tied: Sequence[str], bound: object, changes: Mapping[tuple[str, Value], Ceilings | None],
    ask: Callable[[Sequence[Design]], Sequence[object]],
) -> dict[str, Value]:  # fmt: skip
    """Return the changes that together raise the ceilings of all tied resources; none if one is enough or none can.

    bound: the bounds of the unchanged machine. changes: the candidates, of which at most one per parameter is chosen,
    each with its ceilings (None: unknown). ask: returns the bounds of machines.
    """
    settings: dict[str, Value] = {}
    start = ceilings_of(bound)
    if len(tied) < 2 or any(name not in start for name in tied):
        return {}
    required = {name: start[name] * (1 + WORTH) for name in tied}
    present = start
    while any(present[name] < required[name] for name in tied):
        machines: dict[tuple[str, Value], Design] = {}
        for name, value in changes:
            with suppress(InputError):  # outside the range of the design with the chosen values
                if name not in settings:
                    machines[name, value] = design.with_(**settings, **{name: value})
        lowest = min(tied, key=lambda name: present[name] / start[name])
        known = {} if settings else {change: ceilings for change, ceilings in changes.items() if ceilings is not None}
        unknown = [change for change in machines if change not in known]
        answers = ask([machines[change] for change in unknown]) if unknown else ()
        known |= dict(zip(unknown, map(ceilings_of, answers), strict=True))
        candidates = [(change, known[change]) for change in machines if all(name in known[change] for name in tied)]
        best = max(candidates, key=lambda c: (c[1][lowest], min(c[1][name] for name in tied)), default=None)
        if best is None or best[1][lowest] <= present[lowest] * (1 + WORTH):
            return {}
        (name, settings[name]), present = best
    return settings if len(settings) > 1 else {}
