"""Simulation of a network file: means over the time after the warm-up, with 95 % intervals.

Numbers at stations are time integrals; response = number / throughput (Little). One seed: batch means with Student's t,
few and long batches (Schmeiser, Operations Research 30, 1982: more than 10 to 30 bring little, and means of short ones
are neither normal nor independent). Several seeds: replications, t over the seeds.

Warm-up: a tenth of the passes, at least WARM_TIMES of the longest mean time (the time in which an empty station of many
servers fills). A queue of c servers with mean service m at load r forgets its state in about
m (1 + scv) / (2 c (1 - sqrt(r))^2) (M/M/1: Morse, Operations Research 3, 1955); the answer warns of runs that are short
against it. Waits behind services of tail t^-a have a mean for a > 2 and a variance for a > 3 (Kiefer and Wolfowitz,
Annals of Mathematical Statistics 27, 1956); otherwise no result that contains them has an interval.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from npexplore._kernels import engine
from npexplore.engine.intervals import interval, quantiles
from npexplore.engine.run import Run, run
from npexplore.engine.state import Snapshot
from npexplore.errors import InputError, RefusedError, SimulationError
from npexplore.networks.program import NetworkCompiler
from npexplore.networks.records import Network
from npexplore.networks.result import ClassResult, NetworkResult, StationClassResult, StationResult, busiest, refusal
from npexplore.networks.times import Pareto

BATCHES = 10  # measured batches
WARM_TIMES = 10.0  # least length of the warm-up, in longest mean times
MAX_WARM_UP = 10_000_000  # passes of the warm-up
FORGETFUL = 10.0  # least length of a run without a warning, in times that a queue takes to forget its state
CUSTOMERS = 200_000  # measured passes per seed
SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
BIN = 0.008  # half of a histogram bin, relative
GROWTH = 0.02  # share of the arrivals that may remain in the network by chance
STALLED = 1e6  # a run ends after so many longest mean times without a finished pass
Numbers = dict[str, float]


def simulate_network(
    network: Network,
    seeds: Sequence[int] = (1, 2, 3, 4, 5),
    customers: int = CUSTOMERS,
    progress: Callable[[int], None] | None = None,
) -> NetworkResult:
    """Simulate with each seed until `customers` passes from `in` to `out` are measured after the warm-up.

    A network that cannot run (blocked for ever, or unstable with too many customers) is refused with the reason. Raises
    InputError for no seeds or too few customers; `progress` is called with the seed of every finished run.
    """
    if not seeds or customers < BATCHES:
        raise InputError(f"a simulation needs a seed and {BATCHES} customers, got {len(seeds)} and {customers}")
    try:
        model = NetworkCompiler(network).model()
        thinking = any(c.think_time for c in network.classes.values())
        batch = (2 if thinking else 1) * customers // BATCHES
        warm_up_batches = _warm_up(network, batch)
        runs = []
        for seed in seeds:
            stall_s = STALLED * longest_time(network)
            seed_run = run(model, seed, batch * (BATCHES + warm_up_batches), BATCHES + warm_up_batches, stall_s=stall_s)
            runs.append(replace(seed_run, snapshots=seed_run.snapshots[warm_up_batches:]))
            if progress is not None:
                progress(seed)
            _refuse_overflow(runs[-1])
            _refuse_growing(network, runs[-1])
    except (RefusedError, SimulationError) as error:
        return refusal(network, "simulation", str(error))
    return _result(network, runs)


def _warm_up(network: Network, batch: int) -> int:
    """Return the number of batches, of `batch` passes each, before the measured ones."""
    classes = network.classes.values()
    services = [time.moments()[0] for c in classes for time in c.service.values()]
    arriving = sum(c.arrivals.rate for c in classes if c.arrivals is not None)
    passes = min(WARM_TIMES * max(services, default=0.0) * arriving, MAX_WARM_UP)
    return max(math.ceil(passes / batch), 1)


def _refuse_overflow(seed_run: Run) -> None:
    """Raise RefusedError if a time integral of units may have exceeded 64 bits."""
    max_units = max(server.units for server, _ in seed_run.model.servers.values())
    if seed_run.snapshots[-1].now * max_units >= 1 << 63:
        raise RefusedError("times differ too much from the shortest of the file for one clock")


def _refuse_growing(network: Network, seed_run: Run) -> None:
    """Raise RefusedError if clearly fewer customers of a class leave than arrive: there is no steady state."""
    first, last = seed_run.snapshots[0], seed_run.snapshots[-1]
    lost = dict(zip(seed_run.model.counters, last.counters - first.counters, strict=True))
    for number, (name, customers) in enumerate(network.classes.items()):
        if customers.arrivals is None or network.switches:
            continue
        come = customers.arrivals.rate * (last.now - first.now) * seed_run.model.tick
        left = float((last.done - first.done)[number, engine.D_COUNT]) + float(lost.get(f"lost.{name}", 0))
        if come - left > GROWTH * come + 6 * (customers.arrivals.dispersion() * come) ** 0.5:
            raise RefusedError(f"no steady state: of {come:.0f} customers of class {name!r} that came, {left:.0f} left")


def longest_time(network: Network) -> float:
    """Return the longest mean time: service, think time, or time between arrivals."""
    times = [time.moments()[0] for c in network.classes.values() for time in c.service.values()]
    times += [c.think_time.moments()[0] for c in network.classes.values() if c.think_time]
    return max(times + [1 / c.arrivals.rate for c in network.classes.values() if c.arrivals])


def _result(network: Network, runs: list[Run]) -> NetworkResult:
    run_means = [_numbers(network, seed_run, seed_run.snapshots[0], seed_run.snapshots[-1]) for seed_run in runs]
    means = {name: float(np.mean([numbers[name] for numbers in run_means])) for name in run_means[0]}
    without_interval, reasons = _heavy_tails(network)
    means |= {name: np.nan for name in means if without_interval.get(name, False)}
    samples: Sequence[Numbers] = run_means
    if len(runs) == 1:
        pairs = itertools.pairwise(runs[0].snapshots)
        samples = [_numbers(network, runs[0], before, after) for before, after in pairs if after.now > before.now]
    ci95 = {}
    for name in means:
        values = np.array([sample[name] for sample in samples])
        values = values[np.isfinite(values)]
        if len(values) > 1 and np.isfinite(means[name]):
            low, high = interval(values)
            ci95[name] = max(means[name] - (high - low) / 2, 0.0), means[name] + (high - low) / 2
    stations = {}
    for name, station in network.station.items():
        fields = _fields(means, f"stations.{name}.")
        if station.rates:
            fields["mean_wait"] = None
        if station.discipline == "delay":
            fields["utilization"] = None
        stations[name] = StationResult(**fields)
    rows = {
        name: {
            c: StationClassResult(**_fields(means, f"station_classes.{name}.{c}."))
            for c, customers in network.classes.items()
            if name in customers.service
        }
        for name in network.station
    }
    classes = {}
    for number, name in enumerate(network.classes):
        quantile_values, quantile_ci95 = _quantiles(runs, number, name)
        ci95 |= quantile_ci95
        classes[name] = ClassResult(**_fields(means, f"classes.{name}."), **quantile_values)
    known = {f"stations.{s}.{field}" for s in stations for field, v in vars(stations[s]).items() if v is None}
    ci95 = {name: span for name, span in ci95.items() if name not in known and name not in without_interval}
    method = f"{len(runs)} replications" if len(runs) > 1 else "batch means"
    description = "; ".join([f"simulation; {method} with Student's t", *reasons, *_short_runs(network, runs, stations)])
    return NetworkResult("simulation", False, stations, classes, description, None, ci95, busiest(stations), rows)


def _heavy_tails(network: Network) -> tuple[dict[str, bool], list[str]]:
    """Return the means without interval, by name, with whether they are infinite; and the reasons in words."""
    without_interval: dict[str, bool] = {}
    reasons = []
    for name, station in network.station.items():
        shapes = [
            time.shape for c in network.classes.values() if isinstance(time := c.service.get(name), Pareto)
        ]  # fmt: skip
        waits = station.discipline not in ("delay", "ps") and station.capacity != station.servers
        if not shapes or min(shapes) > (3 if waits else 2):
            continue
        shape, infinite = min(shapes), waits and min(shapes) <= 2
        visitors = [c for c, customers in network.classes.items() if name in customers.service]
        places = [f"stations.{name}", *(f"station_classes.{name}.{c}" for c in visitors)]
        without_interval |= {
            f"{place}.{mean}": infinite for place in places for mean in ("mean_number", "mean_wait", "mean_response")
        }
        without_interval |= {f"classes.{c}.mean_response": infinite for c in visitors}
        if min(shapes) <= 2:  # busy times are as heavy-tailed; waits of one run are correlated for long
            without_interval |= {f"{place}.utilization": False for place in places}
            without_interval |= {f"classes.{c}.{share}": False for c in visitors for share in SHARES}
        effect = "no mean: what a run shows grows with its length" if infinite else "no variance"
        reasons.append(
            f"service at {name!r} has a tail of shape {shape:g}: times there have {effect}, and so no interval"
        )
    return without_interval, reasons


def _short_runs(network: Network, runs: list[Run], stations: Mapping[str, StationResult]) -> list[str]:
    """Return, in words, the stations whose queues take long to forget their state, compared with the runs."""
    warnings = []
    seconds = min((seed_run.snapshots[-1].now - seed_run.snapshots[0].now) * seed_run.model.tick for seed_run in runs)
    for name, station in network.station.items():
        times = [c.service[name].moments() for c in network.classes.values() if name in c.service]
        load = stations[name].utilization
        if not times or load is None or not 0 < load < 1 or station.discipline == "delay":
            continue
        if station.capacity is not None and station.capacity <= station.servers:
            continue
        mean, scv = max(times)
        memory_s = mean * (1 + min(scv, 1e3)) / 2 / station.servers / (1 - load**0.5) ** 2
        if seconds < FORGETFUL * memory_s:
            factor = math.ceil(FORGETFUL * memory_s / seconds)
            warnings.append(
                f"each run lasts {seconds / memory_s:.2g} times as long as the queue at {name!r} takes to forget its "
                f"state: waits there may be too short; take {factor} times as many customers"
            )
    return warnings


def _quantiles(
    runs: list[Run], number: int, name: str
) -> tuple[dict[str, float | None], dict[str, tuple[float, float]]]:
    """Return quantiles of a class's response over all runs, and their 95 % intervals by dotted name.

    An interval is Student's t over the quantiles of each run (of a single run: of each batch). It is widened by the
    histogram's bins and by the distance between the mean of the parts' quantiles and that of the whole, because
    quantiles of few customers are too small.
    """
    tick = runs[0].model.tick
    pairs = [(seed_run.snapshots[0], seed_run.snapshots[-1]) for seed_run in runs]
    histogram = sum(b.histogram[number] - a.histogram[number] for a, b in pairs)
    points = dict(zip(SHARES, quantiles(np.asarray(histogram), tuple(SHARES.values()), tick), strict=True))
    if len(runs) == 1:
        pairs = list(itertools.pairwise(runs[0].snapshots))
    parts = [quantiles(b.histogram[number] - a.histogram[number], tuple(SHARES.values()), tick) for a, b in pairs]
    spans = {}
    for k, (share, point) in enumerate(points.items()):
        values = np.array([part[k] for part in parts if part[k] is not None], dtype=np.float64)
        if len(values) > 1 and point is not None:
            low, high = interval(values)
            half = (high - low) / 2 + abs(float(values.mean()) - point) + BIN * point
            spans[f"classes.{name}.{share}"] = max(point - half, 0.0), point + half
    return points, spans


def _fields(means: Mapping[str, float], prefix: str) -> dict[str, float | None]:
    fields = {name.removeprefix(prefix): value for name, value in means.items() if name.startswith(prefix)}
    return {name: value if np.isfinite(value) else None for name, value in fields.items()}


def _numbers(network: Network, seed_run: Run, before: Snapshot, after: Snapshot) -> Numbers:
    """Return all means between two snapshots by dotted name; NaN for those of no customers."""
    model, span = seed_run.model, after.now - before.now
    seconds = span * model.tick
    counts = dict(zip(model.counters, after.counters - before.counters, strict=True))
    free, waiting = after.integral_free - before.integral_free, after.integral_line - before.integral_line
    numbers: Numbers = {}
    for name, station in network.station.items():
        server, number = model.servers[name]
        busy = server.units - free[number] / span
        line = waiting[number] / span
        visits = float(after.grants[number] - before.grants[number])
        if station.discipline == "polling":
            busy, line = 0.0, sum(counts.get(f"stay.{name}.{c}", 0) for c in network.polled(name)) / span
            visits = float(sum(counts.get(f"visits.{name}.{c}", 0) for c in network.polled(name)))
        per_visit = span * model.tick / visits if visits else np.nan
        response, work = (busy + line) * per_visit, counts.get(f"work.{name}", 0) * model.tick
        shared = station.lets_go
        numbers |= {
            f"stations.{name}.utilization": work / seconds / station.fullest if shared else busy / server.units,
            f"stations.{name}.throughput": visits / seconds,
            f"stations.{name}.mean_number": busy + line,
            f"stations.{name}.mean_wait": response - work / visits if shared and visits else line * per_visit,
            f"stations.{name}.mean_response": response,
        }
        for c, customers in network.classes.items():
            if name in customers.service:
                times, mean = counts.get(f"visits.{name}.{c}", 0), customers.service[name].moments()[0]
                stay_s = counts.get(f"stay.{name}.{c}", 0) * model.tick
                response = stay_s / times if times else np.nan
                numbers |= {
                    f"station_classes.{name}.{c}.throughput": times / seconds,
                    f"station_classes.{name}.{c}.mean_number": stay_s / seconds,
                    f"station_classes.{name}.{c}.mean_wait": np.nan if station.rates else max(response - mean, 0.0),
                    f"station_classes.{name}.{c}.mean_response": response,
                }
    done = after.done - before.done
    for number, name in enumerate(network.classes):
        passes, lost = float(done[number, engine.D_COUNT]), float(counts.get(f"lost.{name}", 0))
        numbers |= {
            f"classes.{name}.throughput": passes / seconds,
            f"classes.{name}.mean_response": done[number, engine.D_LATENCY] * model.tick / passes if passes else np.nan,
            f"classes.{name}.loss": lost / (passes + lost) if passes + lost else np.nan,
        }
    return numbers
