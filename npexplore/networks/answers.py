"""From throughputs, waits and numbers of the queueing formulas to the answer of a network: its stations and classes."""

from dataclasses import replace

from npexplore.networks.result import ClassResult, NetworkResult, StationClassResult, StationResult, busiest
from npexplore.networks.traffic import Traffic
from npexplore.solve.queueing.inputs import Floats


def by_class(flows: Traffic, result: NetworkResult) -> NetworkResult:
    """Return an answer with a row for each class of the file instead of each chain of classes."""
    file, chains = flows.file, flows.chains
    rows: dict[str, dict[str, StationClassResult]] = {name: {} for name in file.station}
    ones = list(result.classes.values())
    for k, (name, station) in enumerate(file.station.items()):
        for r, (c, customers) in enumerate(file.classes.items()):
            if name not in customers.service:
                continue
            chain = chains.of[r]
            x, visits = ones[chain].throughput, flows.class_visits[k, r]
            whole = result.station_classes.get(name, {}).get(list(result.classes)[chain])
            if x is None or whole is None or whole.mean_number is None:
                continue
            number = whole.mean_number
            service = flows.class_mean[k, r]
            if flows.visits[k, chain] == 0:
                number = 0.0
            elif station.discipline in ("fifo", "last", "random", "priority") and not station.rates:
                wait = number / (x * flows.visits[k, chain]) - flows.mean[k, chain]
                number = x * visits * (wait + service)
            else:
                number *= visits * service / flows.demands[k, chain]
            rows[name][c] = StationClassResult.of(number, x * visits, service, station)
    if file is flows.network:
        return replace(result, station_classes=rows)
    classes = {}
    for r, c in enumerate(file.classes):
        one = ones[chains.of[r]]
        alone = chains.ends[r] > 0.999999999
        x = None if one.throughput is None else one.throughput * float(chains.ends[r])
        classes[c] = replace(one, throughput=x) if alone else ClassResult(x)
    return replace(result, classes=classes, station_classes=rows)


def by_wait(flows: Traffic, wait: Floats, approximation: str | None) -> NetworkResult:
    """Return the answer of an open network from the waits (K or 1, R) of each visit."""
    residence = flows.visits * (wait + flows.mean)
    return by_number(flows, flows.rate, flows.rate * residence, residence.sum(axis=0), approximation)


def by_number(flows: Traffic, x: Floats, number: Floats, response: Floats, approximation: str | None) -> NetworkResult:
    """Return the answer from throughputs (R,), numbers at the stations (K, R) and responses (R,)."""
    stations, rows = {}, {}
    for k, (name, station) in enumerate(flows.network.station.items()):
        visits, busy = float(x @ flows.visits[k]), float(x @ flows.demands[k])
        total = float(number[k].sum())
        stay = total / visits if visits else None
        stations[name] = StationResult(
            utilization=None if station.discipline == "delay" else busy / station.fullest,
            throughput=visits,
            mean_number=total,
            mean_wait=None if station.rates or stay is None else max(stay - busy / visits, 0.0),
            mean_response=stay,
        )
        rows[name] = {
            c: StationClassResult(float(x[r] * flows.visits[k, r]), float(number[k, r]))
            for r, c in enumerate(flows.network.classes)
        }
    classes = {
        name: ClassResult(float(x[r]), float(response[r]), loss=0.0) for r, name in enumerate(flows.network.classes)
    }
    exact = approximation is None
    return NetworkResult(
        "queueing", exact, stations, classes, approximation, bottleneck=busiest(stations), station_classes=rows
    )


def named(quantiles: Floats) -> dict[str, float]:
    """Return quantiles by their names."""
    return dict(zip(("p50", "p95", "p99"), quantiles.tolist(), strict=True))
