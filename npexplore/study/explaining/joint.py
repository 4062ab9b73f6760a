"""Several parameters changed at once: what equally busy resources need, which gain only together.

ties      the bottleneck, and every resource that works as much of the time, within 1 %
settings  as long as a tied resource has its old ceiling, the single change that raises the lowest of their ceilings
          most, added to those before (bounds)
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
    """Settings that are made together, because of resources that are equally busy. gain, low, high, solver,
    bottleneck: as of a single change.
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
        """The lower end of the gain's interval; the gain where that is unknown."""
        return self.gain if self.low is None else self.low


def ceilings_of(bound: object) -> Ceilings:
    """Return the ceilings of an answer by bounds; none of any other answer."""
    return bound.ceilings_pps if isinstance(bound, Prediction) else {}


def ties(best: Prediction, bound: object) -> list[str]:
    """Return what binds and every resource that works as much of the time, within 1 %: only together do they gain.

    Resources that have a ceiling in the answer by bounds count. One that is taken but held by a packet that waits
    elsewhere does not, nor do pools of threads, nor gates at which packets wait for what others hold.
    """
    name, shares, ceilings = best.bottleneck, best.utilization, ceilings_of(bound)
    if name not in shares or name.startswith("threads"):
        return [name]
    working = {  # at the most loaded member, as far as bounds know it
        other: max(share.busy - share.blocked, best.rate_pps / ceilings.get(other, float("inf")))
        for other, share in shares.items()
    }
    others = (other for other in working if other in ceilings and not other.startswith("threads") and other != name)
    return [name, *(other for other in others if abs(working[other] - working[name]) <= TIE * working[name])]


def settings_of(design: Design, values: Mapping[str, Value]) -> tuple[Setting, ...]:
    """Return new values of a machine's parameters beside the present ones."""
    units = {name: design.parameters.file.parameter[name].unit for name in values}
    return tuple(Setting(name, design.parameters[name], value, units[name]) for name, value in values.items())


def joint_settings(
    design: Design, tied: Sequence[str], bound: object, changes: Mapping[tuple[str, Value], Ceilings | None],
    ask: Callable[[Sequence[Design]], Sequence[object]],
) -> dict[str, Value]:  # fmt: skip
    """Return the changes that together raise the ceilings of all tied resources; none if one change does, or none can.

    bound: the answer of the machine as it is. changes: to choose from, at most one of each parameter, with the
    ceilings that are known of each alone. ask: answers machines by bounds.
    """
    chosen: dict[str, Value] = {}
    start = ceilings_of(bound)
    if len(tied) < 2 or any(name not in start for name in tied):
        return {}
    wanted = {name: start[name] * (1 + WORTH) for name in tied}
    present = start
    while any(present[name] < wanted[name] for name in tied):
        machines: dict[tuple[str, Value], Design] = {}
        for name, value in changes:
            with suppress(InputError):  # out of its range with the others
                if name not in chosen:
                    machines[name, value] = design.with_(**chosen, **{name: value})
        lowest = min(tied, key=lambda name: present[name] / start[name])
        known = {} if chosen else {change: then for change, then in changes.items() if then is not None}
        unknown = [change for change in machines if change not in known]
        answers = ask([machines[change] for change in unknown]) if unknown else ()
        known |= dict(zip(unknown, map(ceilings_of, answers), strict=True))
        able = [(change, known[change]) for change in machines if all(name in known[change] for name in tied)]
        best = max(able, key=lambda one: (one[1][lowest], min(one[1][name] for name in tied)), default=None)
        if best is None or best[1][lowest] <= present[lowest] * (1 + WORTH):
            return {}
        (name, chosen[name]), present = best
    return chosen if len(chosen) > 1 else {}
