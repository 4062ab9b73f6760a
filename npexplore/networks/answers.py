"""Turns the results of queueing formulas (throughputs, waits, numbers) into the answer for a network."""

from dataclasses import replace

from npexplore.networks.result import ClassResult, NetworkResult, StationClassResult, StationResult, busiest
from npexplore.networks.traffic import Traffic
from npexplore.solve.queueing.inputs import Floats


def by_class(flows: Traffic, result: NetworkResult) -> NetworkResult:
    """Return an answer by classes of the file instead of by chains of classes."""
    file, chains = flows.file, flows.chains
    rows: dict[str, dict[str, StationClassResult]] = {name: {} for name in file.station}
    chain_results = list(result.classes.values())
    for k, (name, station) in enumerate(file.station.items()):
        for r, (c, customers) in enumerate(file.classes.items()):
            if name not in customers.service:
                continue
            chain = chains.of[r]
            x, visits = chain_results[chain].throughput, flows.class_visits[k, r]
            chain_at_station = result.station_classes.get(name, {}).get(list(result.classes)[chain])
            if x is None or chain_at_station is None or chain_at_station.mean_number is None:
                continue
            number = chain_at_station.mean_number
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
        chain_result = chain_results[chains.of[r]]
        all_passes_end_here = chains.ends[r] > 0.999999999
        x = None if chain_result.throughput is None else chain_result.throughput * float(chains.ends[r])
        classes[c] = replace(chain_result, throughput=x) if all_passes_end_here else ClassResult(x)
    return replace(result, classes=classes, station_classes=rows)


def by_wait(flows: Traffic, wait: Floats, approximation: str | None) -> NetworkResult:
    """Return the answer for an open network from the wait of each visit, (K or 1, R) seconds."""
    residence = flows.visits * (wait + flows.mean)
    return by_number(flows, flows.rate, flows.rate * residence, residence.sum(axis=0), approximation)


def by_number(flows: Traffic, x: Floats, number: Floats, response: Floats, approximation: str | None) -> NetworkResult:
    """Return the answer from throughputs (R,), mean numbers at stations (K, R) and response times (R,)."""
    stations, rows = {}, {}
    for k, (name, station) in enumerate(flows.network.station.items()):
        visits, busy = float(x @ flows.visits[k]), float(x @ flows.demands[k])
        total = float(number[k].sum())
        response_s = total / visits if visits else None
        stations[name] = StationResult(
            utilization=None if station.discipline == "delay" else busy / station.fullest,
            throughput=visits,
            mean_number=total,
            mean_wait=None if station.rates or response_s is None else max(response_s - busy / visits, 0.0),
            mean_response=response_s,
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
    """Return the quantiles by name: p50, p95, p99."""
    return dict(zip(("p50", "p95", "p99"), quantiles.tolist(), strict=True))
