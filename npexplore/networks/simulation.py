"""Simulation of a network file: means over the time after the warm-up, with 95 % intervals.

Numbers at stations are time integrals; response = number / throughput (Little). One seed: batch means with Student's t,
few and long batches (Schmeiser, Operations Research 30, 1982: more than 10 to 30 gain next to nothing, and means of
short ones are neither normal nor independent); several: replications, t over the seeds.

Warm-up: a tenth of the passes, at least WARM_TIMES of the longest mean time (an empty station of many servers fills in
so many of its services). A queue of c servers with mean service m at load r forgets its state in about m (1 + scv) / 2
c (1 - sqrt(r))^2 (M/M/1: Morse, Operations Research 3, 1955): runs that are short against that are told of. Waits
behind services of tail t^-a have a mean for a > 2, a variance for a > 3 (Kiefer and Wolfowitz, Annals of Mathematical
Statistics 27, 1956): elsewhere nothing that contains them has an interval.
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

BATCHES = 10  # measured
WARM_TIMES = 10.0  # longest mean times that the warm-up takes at least
MAX_WARM_UP = 10_000_000  # passes of it
FORGETFUL = 10.0  # times that a queue takes to forget its state: runs that are shorter are told of
CUSTOMERS = 200_000  # passes measured a seed
SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
BIN = 0.008  # half a bin of the histogram
GROWTH = 0.02  # of the customers that come: fewer may stay behind by chance
STALLED = 1e6  # mean times without any pass end a run
Numbers = dict[str, float]


def simulate_network(
    network: Network,
    seeds: Sequence[int] = (1, 2, 3, 4, 5),
    customers: int = CUSTOMERS,
    progress: Callable[[int], None] | None = None,
) -> NetworkResult:
    """Simulate with each seed until so many passes from `in` to `out` are measured after the warm-up.

    A network that cannot be run (blocked for ever, unstable beyond the room for customers) is refused with the reason.
    Raises InputError for no seeds or too few customers; `progress` is called with the seed of every finished run.
    """
    if not seeds or customers < BATCHES:
        raise InputError(f"a simulation needs a seed and {BATCHES} customers, got {len(seeds)} and {customers}")
    try:
        model = NetworkCompiler(network).model()
        thinking = any(c.think_time for c in network.classes.values())
        batch = (2 if thinking else 1) * customers // BATCHES
        cut = _warm_up(network, batch)
        runs = []
        for seed in seeds:
            stall_s = STALLED * longest_time(network)
            one = run(model, seed, batch * (BATCHES + cut), BATCHES + cut, stall_s=stall_s)
            runs.append(replace(one, snapshots=one.snapshots[cut:]))
            if progress is not None:
                progress(seed)
            _refuse_overflow(runs[-1])
            _refuse_growing(network, runs[-1])
    except (RefusedError, SimulationError) as error:
        return refusal(network, "simulation", str(error))
    return _result(network, runs)


def _warm_up(network: Network, batch: int) -> int:
    """Return the batches, of `batch` passes each, before those that are measured."""
    classes = network.classes.values()
    services = [time.moments()[0] for c in classes for time in c.service.values()]
    arriving = sum(c.arrivals.rate for c in classes if c.arrivals is not None)
    passes = min(WARM_TIMES * max(services, default=0.0) * arriving, MAX_WARM_UP)
    return max(math.ceil(passes / batch), 1)


def _refuse_overflow(one: Run) -> None:
    """Raise RefusedError where a time integral of units may have left 64 bits."""
    most = max(server.units for server, _ in one.model.servers.values())
    if one.snapshots[-1].now * most >= 1 << 63:
        raise RefusedError("times differ too much from the shortest of the file for one clock")


def _refuse_growing(network: Network, one: Run) -> None:
    """Raise RefusedError where clearly fewer customers of a class leave than come: the network has no steady state."""
    a, b = one.snapshots[0], one.snapshots[-1]
    lost = dict(zip(one.model.counters, b.counters - a.counters, strict=True))
    for number, (name, customers) in enumerate(network.classes.items()):
        if customers.arrivals is None or network.switches:
            continue
        come = customers.arrivals.rate * (b.now - a.now) * one.model.tick
        left = float((b.done - a.done)[number, engine.D_COUNT]) + float(lost.get(f"lost.{name}", 0))
        if come - left > GROWTH * come + 6 * (customers.arrivals.dispersion() * come) ** 0.5:
            raise RefusedError(f"no steady state: of {come:.0f} customers of class {name!r} that came, {left:.0f} left")


def longest_time(network: Network) -> float:
    """Return the longest of all mean times: of service, thinking, and between arrivals."""
    times = [time.moments()[0] for c in network.classes.values() for time in c.service.values()]
    times += [c.think_time.moments()[0] for c in network.classes.values() if c.think_time]
    return max(times + [1 / c.arrivals.rate for c in network.classes.values() if c.arrivals])


def _result(network: Network, runs: list[Run]) -> NetworkResult:
    whole = [_numbers(network, one, one.snapshots[0], one.snapshots[-1]) for one in runs]
    means = {name: float(np.mean([numbers[name] for numbers in whole])) for name in whole[0]}
    unsure, reasons = _heavy_tails(network)
    means |= {name: np.nan for name in means if unsure.get(name, False)}
    samples: Sequence[Numbers] = whole
    if len(runs) == 1:
        pairs = itertools.pairwise(runs[0].snapshots)
        samples = [_numbers(network, runs[0], a, b) for a, b in pairs if b.now > a.now]
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
        points, spans = _quantiles(runs, number, name)
        ci95 |= spans
        classes[name] = ClassResult(**_fields(means, f"classes.{name}."), **points)
    known = {f"stations.{s}.{field}" for s in stations for field, v in vars(stations[s]).items() if v is None}
    ci95 = {name: span for name, span in ci95.items() if name not in known and name not in unsure}
    how = f"{len(runs)} replications" if len(runs) > 1 else "batch means"
    said = "; ".join([f"simulation; {how} with Student's t", *reasons, *_short_runs(network, runs, stations)])
    return NetworkResult("simulation", False, stations, classes, said, None, ci95, busiest(stations), rows)


def _heavy_tails(network: Network) -> tuple[dict[str, bool], list[str]]:
    """Return the means that have no interval, by name, with whether they are infinite; and the reasons in words."""
    unsure: dict[str, bool] = {}
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
        unsure |= {
            f"{place}.{one}": infinite for place in places for one in ("mean_number", "mean_wait", "mean_response")
        }
        unsure |= {f"classes.{c}.mean_response": infinite for c in visitors}
        if (
            min(shapes) <= 2
        ):  # the share of busy time is as heavy-tailed; waits of one run depend on each other for long
            unsure |= {f"{place}.utilization": False for place in places}
            unsure |= {f"classes.{c}.{share}": False for c in visitors for share in SHARES}
        what = "no mean: what a run shows grows with its length" if infinite else "no variance"
        reasons.append(
            f"service at {name!r} has a tail of shape {shape:g}: times there have {what}, and so no interval"
        )
    return unsure, reasons


def _short_runs(network: Network, runs: list[Run], stations: Mapping[str, StationResult]) -> list[str]:
    """Return, in words, at which stations all runs are short against the time that a queue takes to forget."""
    said = []
    seconds = min((one.snapshots[-1].now - one.snapshots[0].now) * one.model.tick for one in runs)
    for name, station in network.station.items():
        times = [c.service[name].moments() for c in network.classes.values() if name in c.service]
        load = stations[name].utilization
        if not times or load is None or not 0 < load < 1 or station.discipline == "delay":
            continue
        if station.capacity is not None and station.capacity <= station.servers:
            continue
        mean, scv = max(times)
        forgets = mean * (1 + min(scv, 1e3)) / 2 / station.servers / (1 - load**0.5) ** 2
        if seconds < FORGETFUL * forgets:
            more = math.ceil(FORGETFUL * forgets / seconds)
            said.append(
                f"each run lasts {seconds / forgets:.2g} times as long as the queue at {name!r} takes to forget its "
                f"state: waits there may be too short; take {more} times as many customers"
            )
    return said


def _quantiles(
    runs: list[Run], number: int, name: str
) -> tuple[dict[str, float | None], dict[str, tuple[float, float]]]:
    """Return quantiles of a class's response over all runs, and their 95 % intervals by dotted name.

    An interval is that of Student's t over the quantiles of each run, or of each batch of a single one, widened by the
    histogram's bins and by how far the parts' quantiles lie off the whole's: those of few customers are too small.
    """
    tick = runs[0].model.tick
    pairs = [(one.snapshots[0], one.snapshots[-1]) for one in runs]
    whole = sum(b.histogram[number] - a.histogram[number] for a, b in pairs)
    points = dict(zip(SHARES, quantiles(np.asarray(whole), tuple(SHARES.values()), tick), strict=True))
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


def _numbers(network: Network, one: Run, a: Snapshot, b: Snapshot) -> Numbers:
    """Return all means between two snapshots by dotted name; NaN where nobody came."""
    model, span = one.model, b.now - a.now
    seconds = span * model.tick
    counts = dict(zip(model.counters, b.counters - a.counters, strict=True))
    free, waiting = b.integral_free - a.integral_free, b.integral_line - a.integral_line
    numbers: Numbers = {}
    for name, station in network.station.items():
        server, number = model.servers[name]
        busy = server.units - free[number] / span
        line = waiting[number] / span
        visits = float(b.grants[number] - a.grants[number])
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
                stay = counts.get(f"stay.{name}.{c}", 0) * model.tick
                response = stay / times if times else np.nan
                numbers |= {
                    f"station_classes.{name}.{c}.throughput": times / seconds,
                    f"station_classes.{name}.{c}.mean_number": stay / seconds,
                    f"station_classes.{name}.{c}.mean_wait": np.nan if station.rates else max(response - mean, 0.0),
                    f"station_classes.{name}.{c}.mean_response": response,
                }
    done = b.done - a.done
    for number, name in enumerate(network.classes):
        passes, lost = float(done[number, engine.D_COUNT]), float(counts.get(f"lost.{name}", 0))
        numbers |= {
            f"classes.{name}.throughput": passes / seconds,
            f"classes.{name}.mean_response": done[number, engine.D_LATENCY] * model.tick / passes if passes else np.nan,
            f"classes.{name}.loss": lost / (passes + lost) if passes + lost else np.nan,
        }
    return numbers
