"""Simulations of a machine with several seeds: means, intervals with Student's t, and modes of their rates."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from npexplore.engine.intervals import interval
from npexplore.engine.model import EngineModel, build
from npexplore.errors import InputError
from npexplore.machine.machine import Machine
from npexplore.machine.workload import Workload
from npexplore.solve.modes import modes_of
from npexplore.solve.prediction import Prediction, Queue
from npexplore.solve.simulate import meet_at_locks, simulate


def seeds_from(seed: int, seeds: int | Sequence[int]) -> list[int]:
    """Return the seeds of replications: `seeds` consecutive ones from `seed` on, or the given sequence."""
    return list(range(seed, seed + seeds)) if isinstance(seeds, int) else list(seeds)


def replicate(
    machine: Machine, workload: Workload, seeds: Sequence[int], *, packets: int | None = None,
    warm_up: int | None = None, window_s: float | None = None, boot_s: float | None = None,
    progress: Callable[[int], None] | None = None, model: EngineModel | None = None, breakdown: bool = False,
) -> Prediction:  # fmt: skip
    """Simulate with several seeds: means and intervals over the seeds; the breakdown is that of the first seed.

    Other arguments: see `simulate`.
    """
    if not seeds:
        raise InputError("a simulation needs at least one seed")
    model = model or build(machine, workload)
    runs = [
        simulate(
            machine, workload, seed=seed, packets=packets, warm_up=warm_up, window_s=window_s, boot_s=boot_s,
            model=model, breakdown=breakdown and seed == seeds[0], progress=progress,
        )
        for seed in seeds
    ]  # fmt: skip
    if len(runs) == 1:
        return runs[0]
    rates = [_Rates(run.seed or 0, run.rate_pps, np.array([n / s for n, s in run.batches])) for run in runs]
    modes = modes_of(rates) if meet_at_locks(machine) else None
    combined = combine(runs)
    if modes is None:
        return combined
    text = f"{combined.approximation}; runs fall into modes: {modes}"
    return replace(combined, approximation=text, about={**combined.about, "modes": str(modes)})


class _Rates(NamedTuple):
    """Rates of one run, from which modes are determined (solve/modes.py)."""

    seed: int
    rate_pps: float
    rates: npt.NDArray[np.float64]


def combine(runs: Sequence[Prediction]) -> Prediction:
    """Return the mean of several runs with intervals over the runs; other fields are those of the first run."""
    first = runs[0]
    means = {
        name: _mean([getattr(run, name) for run in runs])
        for name in ("throughput_bps", "rate_pps", "utilization", "queue", "loss", "latency_s", "classes", "rates")
    }
    longest = {name: max(run.queue[name].longest for run in runs) for name in first.queue}
    measured: dict[str, list[float | None]] = {
        "throughput_bps": [run.throughput_bps for run in runs],
        "rate_pps": [run.rate_pps for run in runs],
        "latency_s": [run.latency_s.mean for run in runs],
        **{f"utilization.{name}": [run.utilization[name].busy for run in runs] for name in first.utilization},
        **{f"rate.{name}": [run.rates[name] for run in runs] for name in first.rates},
    }
    bottlenecks = [run.bottleneck for run in runs]
    return replace(
        first,
        **means | {"queue": {name: Queue(queue.mean, longest[name]) for name, queue in means["queue"].items()}},
        bottleneck=max(dict.fromkeys(bottlenecks), key=bottlenecks.count),  # ties: the first
        drops={place: round(drops) for place, drops in _mean([run.drops for run in runs]).items()},
        ci95={name: interval(np.array(values)) for name, values in measured.items() if None not in values},
        approximation=f"simulation; {len(runs)} replications with Student's t",
        batches=tuple(batch for run in runs for batch in run.batches),
        about={**first.about, "seeds": len(runs)},
    )


def _mean(values: Sequence[Any]) -> Any:
    """Return the mean of numbers, or of tables or records of numbers, item by item, without unknown numbers."""
    match values[0]:
        case Mapping() as first:
            return {name: _mean([value[name] for value in values]) for name in first}
        case tuple() as first:
            return type(first)(*map(_mean, zip(*values, strict=True)))
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
