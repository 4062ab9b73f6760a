"""Asymptotic bounds of a network file: upper throughput, lower response time, and the bottleneck.

Closed class: X <= min(N / (D + Z), min_k c_k / D_k), D the service of a pass without waiting (of a fork, its longest
branch), c_k the highest speed of station k (Denning and Buzen, Computing Surveys 10, 1978). Open class: X <= rate.
"""

import numpy as np

from npexplore.networks.answers import by_class
from npexplore.networks.result import ClassResult, NetworkResult, StationResult, busiest
from npexplore.networks.traffic import Traffic


def solve_bounds(flows: Traffic) -> NetworkResult:
    """Bound each class separately; utilizations are those at the bounds, at most 1.

    The bottleneck is the station with the largest utilization; a station's mean response is its service without
    waiting.
    """
    pass_s = flows.path * flows.mean / flows.fastest[:, None]
    share = flows.demands / flows.fullest[:, None]  # utilization of each station by one pass per second
    with np.errstate(divide="ignore", invalid="ignore"):
        offered = np.where(flows.rate > 0, flows.rate, flows.population / (pass_s.sum(axis=0) + flows.think_time))
        upper = np.minimum(offered, 1 / share.max(axis=0))
    stations = {}
    for k, name in enumerate(flows.network.station):
        visits = float(upper @ flows.visits[k])
        service_s = float(upper @ flows.demands[k]) / flows.fastest[k] / visits if visits else None
        utilization = None if flows.delay[k] else min(float(upper @ share[k]), 1.0)
        stations[name] = StationResult(utilization=utilization, throughput=visits, mean_response=service_s)
    classes = {
        name: ClassResult(float(upper[r]), float(pass_s[:, r].sum())) for r, name in enumerate(flows.network.classes)
    }
    method = "asymptotic bounds: throughput from above, response from below"
    return by_class(flows, NetworkResult("bounds", False, stations, classes, method, bottleneck=busiest(stations)))
