"""What networks must answer: the worked examples and single features, each with its truth worked out on its own.

Truths are closed forms or chains written down state by state, {"stations.NAME.field" or "classes.NAME.field": value}.
"""

import itertools
import math
from collections import Counter
from functools import cache

import msgspec
import numpy as np
from reference.markov import steady
from scipy.optimize import brentq

from npexplore.networks.description import load_network
from npexplore.networks.records import Network
from npexplore.paths import share

# ---- chains


def births_and_deaths(births, deaths):
    """Probabilities of 0, 1, ... customers: births[n] leads from n to n + 1, deaths[n] back."""
    p = np.cumprod([1.0, *(b / d for b, d in zip(births, deaths, strict=True))])
    return p / p.sum()


def erlang_c(a, c):
    """The share of customers of M/M/c at `a` erlangs that wait."""
    top = a**c / math.factorial(c) / (1 - a / c)
    return top / (sum(a**k / math.factorial(k) for k in range(c)) + top)


# ---- the examples of models/networks


def mm1():
    return {"stations.server.mean_number": 4, "classes.jobs.mean_response": 5, "stations.server.utilization": 0.8}


def mmc():
    wait = erlang_c(2.4, 3) / (3 - 2.4)
    return {"stations.servers.mean_wait": wait, "classes.jobs.mean_response": 1 + wait}


def mm1k():
    p = np.array([0.9**n for n in range(6)]) / sum(0.9**n for n in range(6))
    return {
        "classes.packets.loss": p[5],
        "classes.packets.throughput": 0.9 * (1 - p[5]),
        "stations.buffer.mean_number": p @ np.arange(6),
    }


def md1():
    return {"stations.link.mean_wait": 2, "classes.packets.mean_response": 3}


def closed_multiclass():
    demands = {"processor": (0.4, 5.0), "disk": (0.3, 1.2)}  # visits: 2 and 1; 5 and 4

    def weights(population):
        found = {}
        for here in itertools.product(*(range(n + 1) for n in population)):
            there = tuple(n - k for n, k in zip(population, here, strict=True))
            found[here] = math.prod(
                math.factorial(sum(counts))
                * math.prod(D**k / math.factorial(k) for D, k in zip(Ds, counts, strict=True))
                for counts, Ds in ((here, demands["processor"]), (there, demands["disk"]))
            )
        return found

    whole = weights((4, 2))
    G = sum(whole.values())
    first, second = sum(weights((3, 2)).values()) / G, sum(weights((4, 1)).values()) / G
    return {
        "classes.interactive.throughput": first,
        "classes.interactive.mean_response": 4 / first,
        "classes.batch.throughput": second,
        "stations.processor.mean_number": sum(sum(here) * weight for here, weight in whole.items()) / G,
        "stations.disk.utilization": 0.3 * first + 1.2 * second,
    }


def think_time():
    p = births_and_deaths([(8 - n) / 5 for n in range(8)], [(1.0, 1.8, 2.5)[min(n, 2)] for n in range(8)])
    number = p @ np.arange(9)
    return {
        "stations.processor.mean_number": number,
        "classes.users.throughput": (8 - number) / 5,
        "classes.users.mean_response": 5 * number / (8 - number),
        "stations.processor.utilization": (8 - number) / 5 / 2.5,
    }


def blocking_tandem():
    rates = {}  # (at the first, at the second, is the one at the first's server done and waiting)
    for n, m, waits in [*itertools.product(range(5), range(3), (0,)), *((n, 2, 1) for n in range(1, 5))]:
        if n < 4:
            rates[(n, m, waits), (n + 1, m, waits)] = 0.8
        if n > 0 and not waits:
            rates[(n, m, 0), (n - 1, m + 1, 0) if m < 2 else (n, 2, 1)] = 1.0
        if m > 0:
            rates[(n, m, waits), (n - 1, 2, 0) if waits else (n, m - 1, 0)] = 1.0
    p = steady(rates)
    out = sum(share for (_, m, _), share in p.items() if m > 0)
    return {
        "classes.packets.throughput": out,
        "classes.packets.loss": 1 - out / 0.8,
        "stations.first.mean_number": sum(n * share for (n, _, _), share in p.items()),
        "stations.second.mean_number": sum(m * share for (_, m, _), share in p.items()),
        "stations.first.utilization": sum(share for (n, _, _), share in p.items() if n > 0),
    }


def priorities():
    residual = 0.3 * 1 / 2 + 0.5 * 2 / 2
    voice, data = residual / 0.7, residual / 0.7 / 0.2
    return {
        "classes.voice.mean_response": 1 + voice,
        "classes.data.mean_response": 1 + data,
        "stations.link.mean_wait": (0.3 * voice + 0.5 * data) / 0.8,
    }


def fork_join():
    return {"classes.jobs.mean_response": (12 - 0.6) / 8 / (1 - 0.6), "stations.left.mean_number": 1.5}


def bank_interference():
    """In each cycle every bank with requests serves one, which goes to any of the four banks."""
    rates = {}
    states = {tuple(sorted(banks)) for banks in itertools.product(range(5), repeat=4) if sum(banks) == 4}
    for state in states:
        left = [max(n - 1, 0) for n in state]
        served = 4 - sum(left)
        for ways in itertools.product(range(4), repeat=served):
            again = Counter(ways)
            after = tuple(sorted(n + again[k] for k, n in enumerate(left)))
            rates[state, after] = rates.get((state, after), 0) + 0.25**served
    busy = sum(share * sum(n > 0 for n in state) for state, share in steady(rates).items())
    return {"classes.processors.throughput": busy, "stations.bank0.utilization": busy / 4}


def class_switching():
    # the product form summed over the ways to spread three customers: demands 1.35 and 0.5
    G = [sum(1.35**k * 0.5 ** (n - k) for k in range(n + 1)) for n in range(4)]
    x = G[2] / G[3]
    return {
        "classes.first.throughput": x,
        "classes.first.mean_response": 3 / x,
        "stations.processor.mean_number": sum(k * 1.35**k * 0.5 ** (3 - k) for k in range(4)) / G[3],
        "stations.disk.utilization": 0.5 * x,
    }


def bursts():
    rates, most = {}, 300
    for n, phase in itertools.product(range(most), range(2)):
        rates[(n, phase), (n, 1 - phase)] = 0.25
        if n + 1 < most:
            rates[(n, phase), (n + 1, phase)] = (1.2, 0.3)[phase]
        if n:
            rates[(n, phase), (n - 1, phase)] = 1 / 0.6
    number = sum(n * share for (n, _), share in steady(rates).items())
    return {"stations.link.mean_number": number, "classes.packets.mean_response": number / 0.75}


def round_robin():
    response = renewal(lambda s: (1.2 / (1.2 + s)) ** 2)
    return {"classes.jobs.mean_response": response, "stations.left.mean_number": 0.6 * response}


def region():
    rates = {}
    for n, m in itertools.product(range(4), range(4)):
        if n + m < 3:
            rates[(n, m), (n + 1, m)] = 0.8
        if n + m <= 3 and n:
            rates[(n, m), (n - 1, m + 1)] = 1 / 0.7
        if n + m <= 3 and m:
            rates[(n, m), (n, m - 1)] = 1.0
    p = steady(rates)
    loss = sum(share for (n, m), share in p.items() if n + m == 3)
    inside = sum((n + m) * share for (n, m), share in p.items())
    return {
        "classes.packets.loss": loss,
        "classes.packets.mean_response": inside / 0.8 / (1 - loss),
        "stations.parse.mean_number": sum(n * share for (n, _), share in p.items()),
    }


def polling():
    rho, way, square = np.array([0.4, 0.24]), 0.6, 0.56
    work = rho.sum() * (0.5 * 2 * 0.64 + 0.3 * 1.5 * 0.64) / 2 / 0.36 + rho.sum() * square / 2 / way
    work += way / 2 / 0.36 * (rho.sum() ** 2 - rho @ rho)
    return {"stations.scheduler.mean_number": work / 0.8 + 0.64, "stations.scheduler.utilization": 0.64}


def route_cache():
    p = [1 / i / (1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) for i in range(1, 6)]
    pairs = [(i, j, p[i] * p[j] / (1 - p[i])) for i, j in itertools.permutations(range(5), 2)]
    hit = sum(share * (p[i] + p[j]) for i, j, share in pairs)
    return {
        "stations.hit.throughput": 2 * hit,
        "stations.memory.mean_number": 2 * (1 - hit),
        "classes.packets.mean_response": 0.1 * hit + (1 - hit),
    }


def coxian():
    return {"stations.server.mean_wait": 1.6875, "classes.jobs.mean_response": 2.6875}


EXAMPLES = {
    truth.__name__: truth
    for truth in (
        mm1, mmc, mm1k, md1, closed_multiclass, think_time, blocking_tandem, priorities, fork_join, bank_interference,
        class_switching, bursts, round_robin, region, route_cache, coxian, polling,
    )
}  # fmt: skip


@cache
def example(name):
    """The network of an example."""
    return load_network(share("models", "networks", f"{name}.toml"))


# ---- single features: description and truth


def exponential(mean):
    return {"distribution": "exponential", "mean": mean}


def poisson(rate):
    return {"process": "poisson", "rate": rate}


def queue(station=None, arrivals=None, service=None, **more):
    """One station `s` that class `c` visits once."""
    one = {
        "service": {"s": service or exponential(1.0)}, "route": {"in": {"s": 1.0}, "s": {"out": 1.0}}, **more,
    }  # fmt: skip
    if "population" not in more:
        one["arrivals"] = arrivals or poisson(0.7)
    return {"station": {"s": station or {}}, "class": {"c": one}}


def ring(stations, service, **more):
    """One class `c` that passes the stations in order."""
    names = list(stations)
    route = dict(zip(["in", *names], [{n: 1.0} for n in [*names, "out"]], strict=True))
    return {"station": stations, "class": {"c": {"service": service, "route": route, **more}}}


def open_queue(response, rate=0.7, service=1.0, servers=1):
    return {
        "classes.c.mean_response": response,
        "stations.s.mean_number": rate * response,
        "stations.s.mean_wait": response - service,
        "stations.s.utilization": rate * service / servers,
    }


SERVICES = {  # of mean 1, and second moment / 2
    "deterministic": ({"mean": 1.0}, 0.5),
    "exponential": ({"mean": 1.0}, 1.0),
    "erlang": ({"mean": 1.0, "stages": 4}, 0.625),
    "hyperexponential": ({"means": [0.5, 2.0], "probability": 2 / 3}, 1.5),
    "uniform": ({"low": 0.5, "high": 1.5}, 0.5 + 1 / 24),
    "empirical": ({"values": [0.5, 1.0, 2.0], "weights": [2, 1, 1]}, (0.5 + 1 + 4) / 4 / 2),
}


def service_of(name):
    return {"distribution": name, **SERVICES[name][0]}


def renewal(transform):
    """Response of GI/M/1 at service mean 1: 1 / (1 - sigma) with sigma the root of A*(1 - sigma) = sigma."""
    return 1 / (1 - brentq(lambda x: transform(1 - x) - x, 0, 1 - 1e-6))


def interrupted(s, rate=1.4, off=1 / 5, on=1 / 5):
    """Laplace transform of the time between arrivals: Poisson while on, by conditioning on what ends a span."""
    return rate * (s + on) / ((s + on) * (s + rate + off) - on * off)


def speeds_open(rates, arrival=0.7, most=400):
    """M/M(n)/1: the chain, cut where next to nobody comes."""
    fast = np.array([rates[min(n, len(rates) - 1)] for n in range(most)])
    p = births_and_deaths([arrival] * most, fast)
    number = p @ np.arange(most + 1)
    return {
        "stations.s.mean_number": number,
        "classes.c.mean_response": number / arrival,
        "stations.s.utilization": arrival / max(rates),
    }


def limited(servers, places, arrival, rates=None):
    deaths = [rates[min(n, len(rates)) - 1] if rates else min(n, servers) for n in range(1, places + 1)]
    p = births_and_deaths([arrival] * places, deaths)
    number, out = p @ np.arange(places + 1), arrival * (1 - p[-1])
    return {
        "classes.c.loss": p[-1],
        "classes.c.throughput": out,
        "stations.s.mean_number": number,
        "classes.c.mean_response": number / out,
    }


def closed_ring(demands, servers, population, think=0.0):
    """One class of exponential FIFO stations: the product form summed over all states."""

    def weight(k, n):
        return math.prod(demands[k] / min(j, servers[k]) for j in range(1, n + 1))

    def states(total, places):
        if places == 1:
            return [(total,)]
        return [(n, *rest) for n in range(total + 1) for rest in states(total - n, places - 1)]

    def whole(total):
        return {
            s: math.prod(weight(k, n) for k, n in enumerate(s[:-1])) * think ** s[-1] / math.factorial(s[-1])
            for s in states(total, len(demands) + 1)
        }

    now, before = whole(population), whole(population - 1)
    G = sum(now.values())
    x = sum(before.values()) / G
    return {
        "classes.c.throughput": x,
        "classes.c.mean_response": population / x - think,
        "stations.a.mean_number": sum(s[0] * w for s, w in now.items()) / G,
        "stations.b.utilization": x * demands[1] / servers[1],
    }


def preemptive(loads):
    """M/G/1, preemptive resume: R = s / (1 - above) + residual / ((1 - above) (1 - with)); loads (rate, mean, scv)."""
    found, above, residual = [], 0.0, 0.0
    for rate, mean, scv in loads:
        here = above + rate * mean
        residual += rate * mean**2 * (1 + scv) / 2
        found.append(mean / (1 - above) + residual / (1 - above) / (1 - here))
        above = here
    return found


def two_classes(discipline, first, second):
    one = {"route": {"in": {"s": 1.0}, "s": {"out": 1.0}}}
    return {
        "station": {"s": {"discipline": discipline}},
        "class": {
            "high": {**one, "priority": 0, "arrivals": poisson(first[0]), "service": {"s": first[1]}},
            "low": {**one, "priority": 3, "arrivals": poisson(second[0]), "service": {"s": second[1]}},
        },
    }


def loops():
    """A job comes back to the first station half of the time: Jackson, visits 2 and 1."""
    network = ring({"a": {}, "b": {"servers": 2}}, {"a": exponential(0.35), "b": exponential(1.4)}, arrivals=poisson(1))
    network["class"]["c"]["route"] |= {"a": {"a": 0.25, "b": 0.5, "out": 0.25}, "b": {"a": 0.5, "out": 0.5}}
    # x_a = 1 + x_a / 4 + x_b / 2, x_b = x_a / 2
    a, b = 2.0, 1.0
    first, second = a * 0.35 / (1 - a * 0.35), b * (1.4 + erlang_c(1.4, 2) * 1.4 / (2 - 1.4))
    return network, {
        "classes.c.mean_response": first + second,
        "stations.a.mean_number": first,
        "stations.b.mean_number": second,
        "stations.a.throughput": a,
    }


def split():
    """Two exponential delays at once last 1.5 means; nobody queues."""
    network = ring({"both": {}}, {"a": exponential(1.0), "b": exponential(1.0)}, population=3)
    network["station"] = {"a": {"discipline": "delay"}, "b": {"discipline": "delay"}}
    network["fork"] = {"both": {"stations": ["a", "b"]}}
    return network, {"classes.c.mean_response": 1.5, "classes.c.throughput": 2.0, "stations.a.mean_number": 2.0}


def closed_blocking():
    """Three customers, two places at each of two stations: (at a, at b, is the one at a done and waiting for b).

    Who is done at b and finds a full waits before the door, outside both: state (2, 0, 0).
    """
    rates = {
        ((1, 2, 0), (2, 1, 0)): 1 / 0.8,
        ((1, 2, 0), (1, 2, 1)): 1.0,
        ((1, 2, 1), (1, 2, 0)): 1 / 0.8,  # the one done at b comes to a, the one done at a goes to b
        ((2, 1, 0), (1, 2, 0)): 1.0,
        ((2, 1, 0), (2, 0, 0)): 1 / 0.8,
        ((2, 0, 0), (2, 1, 0)): 1.0,
    }
    p = steady(rates)
    out = (1 - p[2, 0, 0]) / 0.8
    limits = {"capacity": 2, "when_full": "block"}
    services = {"a": exponential(1.0), "b": exponential(0.8)}
    return ring({"a": limits, "b": limits}, services, population=3), {
        "classes.c.throughput": out,
        "classes.c.mean_response": 3 / out,
        "stations.a.mean_number": sum(n * share for (n, _, _), share in p.items()),
    }


def mixed():
    """An open class and two closed customers share a processor, the closed ones think: the chain, cut at 120."""
    most, rates = 120, {}
    for n, m in itertools.product(range(most + 1), range(3)):
        if n < most:
            rates[(n, m), (n + 1, m)] = 0.4
        if m < 2:
            rates[(n, m), (n, m + 1)] = (2 - m) / 3.0
        if n:
            rates[(n, m), (n - 1, m)] = n / (n + m)
        if m:
            rates[(n, m), (n, m - 1)] = m / (n + m) / 0.5
    p = steady(rates)
    there = sum(m * share for (_, m), share in p.items())
    network = queue({"discipline": "ps"}, poisson(0.4))
    network["class"]["closed"] = {
        "population": 2, "think_time": exponential(3.0), "service": {"s": exponential(0.5)},
        "route": {"in": {"s": 1.0}, "s": {"out": 1.0}},
    }  # fmt: skip
    return network, {
        "classes.c.mean_response": sum(n * share for (n, _), share in p.items()) / 0.4,
        "classes.closed.throughput": (2 - there) / 3,
        "classes.closed.mean_response": 3 * there / (2 - there),
    }


def alike_banks():
    """n customers over m alike exponential banks: throughput n m / (n + m - 1)."""
    names = [f"bank{k}" for k in range(4)]
    network = {
        "station": {n: {} for n in names},
        "class": {"c": {
            "population": 6, "service": {n: exponential(1.0) for n in names},
            "route": {"in": dict.fromkeys(names, 0.25), **{n: {"out": 1.0} for n in names}},
        }},
    }  # fmt: skip
    return network, {"classes.c.throughput": 24 / 9, "stations.bank2.utilization": 6 / 9}


def engset():
    """Three sources, one place, alpha = service / think = 0.5: p(busy) = 3 alpha / (1 + 3 alpha), half is lost."""
    network = queue({"capacity": 1}, population=3, think_time=exponential(2.0))
    return network, {
        "stations.s.utilization": 0.6, "classes.c.throughput": 0.6, "classes.c.loss": 0.5,
        "classes.c.mean_response": 1.0,
    }  # fmt: skip


def features():
    """All single features: {name: (description without a name, truth)}."""
    found = {
        f"fifo {name}": (queue(service=service_of(name)), open_queue(1 + 0.7 * SERVICES[name][1] / 0.3))
        for name in SERVICES
    }
    for name in SERVICES:
        found[f"ps {name}"] = (queue({"discipline": "ps"}, service=service_of(name)), open_queue(1 / 0.3))
    for name in ("exponential", "uniform"):
        found[f"delay {name}"] = (
            queue({"discipline": "delay"}, service=service_of(name)),
            {"stations.s.mean_number": 0.7, "classes.c.mean_response": 1.0},
        )
    wait = erlang_c(1.4, 2) / (2 - 1.4)
    found["ps two servers"] = (
        queue({"discipline": "ps", "servers": 2}, poisson(1.4)), open_queue(1 + wait, 1.4, servers=2),
    )  # fmt: skip
    for process, values, response in (
        ("periodic", {}, renewal(lambda s: math.exp(-s / 0.7))),
        ("on_off", {"on": 5.0, "off": 5.0}, renewal(interrupted)),
        ("batch", {"size": 3}, 2 / 0.3),  # (E X^2 + E X) / (2 E X) customers' service over 1 - rho
        ("batch", {"size": 3, "sizes": "geometric"}, 3 / 0.3),
    ):
        name = " ".join([process, values.get("sizes", "")]).strip()
        found[name] = (queue(arrivals={"process": process, "rate": 0.7, **values}), open_queue(response))
    slow = [0.5, 0.9, 1.2]
    for discipline in ("ps", "fifo"):
        found[f"{discipline} rates"] = (queue({"discipline": discipline, "rates": slow}), speeds_open(slow))
        found[f"{discipline} rates, full"] = (
            queue({"discipline": discipline, "rates": slow, "capacity": 4}), limited(1, 4, 0.7, slow),
        )  # fmt: skip
    found["ps full"] = (queue({"discipline": "ps", "capacity": 3}), limited(1, 3, 0.7))
    found["two servers full"] = (queue({"servers": 2, "capacity": 4}, poisson(1.5)), limited(2, 4, 1.5))
    closed = {"a": exponential(0.6), "b": exponential(1.0)}
    found["closed"] = (ring({"a": {}, "b": {}}, closed, population=5), closed_ring((0.6, 1.0), (1, 1), 5))
    found["closed, servers and thinking"] = (
        ring({"a": {}, "b": {"servers": 2}}, closed, population=6, think_time=exponential(1.5)),
        closed_ring((0.6, 1.0), (1, 2), 6, 1.5),
    )
    first, second = preemptive([(0.3, 1.0, 0.0), (0.4, 1.0, 1.0)])
    found["preemptive"] = (
        two_classes("preemptive", (0.3, service_of("deterministic")), (0.4, exponential(1.0))),
        {"classes.high.mean_response": first, "classes.low.mean_response": second},
    )
    residual = 0.3 * 1.5 + 0.4 * 0.625
    found["priority"] = (
        two_classes("priority", (0.3, service_of("hyperexponential")), (0.4, service_of("erlang"))),
        {
            "classes.high.mean_response": 1 + residual / 0.7,
            "classes.low.mean_response": 1 + residual / 0.7 / 0.3,
            "stations.s.utilization": 0.7,
        },
    )
    for build in (loops, split, closed_blocking, mixed, alike_banks, engset):
        found[build.__name__.replace("_", " ")] = build()
    return found


FEATURES = features()


@cache
def feature(name):
    """The network of a feature."""
    return msgspec.convert({"name": name, **FEATURES[name][0]}, Network)


def all_networks():
    """Every network with a truth: {name: (network, truth)}."""
    found = {name: (example(name), truth()) for name, truth in EXAMPLES.items()}
    return found | {name: (feature(name), truth) for name, (_, truth) in FEATURES.items()}


def value(result, place):
    """The number that a dotted place names in a NetworkResult."""
    kind, subject, field = place.split(".")
    return getattr(getattr(result, kind)[subject], field)
