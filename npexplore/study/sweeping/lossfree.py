"""The maximum loss-free forwarding rate (MLFFR, RFC 2544 section 26.1): bisection over the offered load.

    lo loses nothing, hi loses something;  mid = (lo + hi) / 2 takes the place of one of them until they are close

Every load is simulated with the same seed, so that only the load differs between them. A solver that knows no drops
(bounds) loses nothing as long as arrivals are what limits it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from npexplore.designs import Design
from npexplore.errors import InputError, positive
from npexplore.machine.workload import Workload
from npexplore.solve.prediction import Prediction

LOAD = "load"  # the knob of a design that brings its own workload


@dataclass(frozen=True)
class LossFree:
    """The highest load found without a drop, the lowest with one (None: even the highest allowed loses nothing).

    answer: what is predicted at `load`; tried: all loads with the packets lost.
    """

    load: float
    loses_at: float | None
    answer: Prediction
    tried: dict[float, int]


def lost(prediction: Prediction) -> int:
    """Return the packets that a prediction drops; without drops, 1 if something else than arrivals limits it."""
    if prediction.solver == "simulation":
        return sum(prediction.drops.values())
    return int(prediction.bottleneck != "arrivals")


def bisect(
    at: Callable[[float], Prediction], low: float, high: float, tolerance: float = 0.01, allowed: int = 0
) -> LossFree:
    """Return the highest load in low..high whose prediction loses at most `allowed` packets.

    tolerance: of the load, relative. Raises InputError if even `low` loses more.
    """
    if not 0 < low < high:
        raise InputError(f"loads to search must be 0 < low < high, got {low} and {high}")
    positive("tolerance of the search", tolerance)
    tried: dict[float, int] = {}

    def loses(load: float) -> bool:
        found[load] = at(load)
        tried[load] = lost(found[load])
        return tried[load] > allowed

    found: dict[float, Prediction] = {}
    if not loses(high):
        return LossFree(high, None, found[high], tried)
    if loses(low):
        raise InputError(f"the lowest load of the search, {low:g}, must lose nothing, got {tried[low]} packets lost")
    while high - low > tolerance * high:
        middle = (low + high) / 2
        if loses(middle):
            high = middle
        else:
            low = middle
    return LossFree(low, high, found[low], tried)


def loss_free(
    design: Design, workload: Workload | None = None, *, low: float = 0.02, high: float = 1.0, tolerance: float = 0.01,
    packets: int | None = None, seed: int = 1,
) -> LossFree:  # fmt: skip
    """Return the highest load at which a design loses nothing.

    Of a design with its own workload the knob `load` is varied; otherwise the load is the share of the bound's rate at
    which the workload arrives (periodic, if it has no arrivals of its own). Raises InputError.
    """
    if design.own is not None:
        if LOAD not in design.parameters.file.parameter:
            raise InputError(f"design {design.name} brings its own workload and has no knob {LOAD!r} to search over")
        return bisect(
            lambda load: design.with_(**{LOAD: load}).simulate(seed=seed, packets=packets), low, high, tolerance
        )
    given = design.workload(workload)
    top = design.bounds(given.with_arrivals("saturated")).rate_pps
    kind = "periodic" if given.arrivals in ("saturated", "timestamps") else given.arrivals

    def offered(load: float) -> Prediction:
        return design.simulate(given.with_arrivals(kind, load * top), seed=seed, packets=packets)

    return bisect(offered, low, high, tolerance)
