"""Machines that are one station of queueing theory: exact named answers without a run and without an interval.

One pool whose packets visit one server or delay, and nothing else takes time. c: the smaller of the server's units and
the number of threads.

    Poisson, exponential   M/M/c, M/M/c/K if packets leave the receive buffer at the end of their visit (Erlang 1917)
    Poisson, constant      M/D/1: V = l D^2 / 2 (1 - l D);  P(W <= x) = sum over j < k of Q[k-1-j] e^-u u^j / j!,
                           u = l (k D - x), k = ceil(x / D), Q[m] the probability of at most m + 1 inside (Franx, OR
                           Letters 29, 2001, for c = 1)
    periodic, constant     no waits below saturation
    saturated              c / E[s], N / rate inside for N threads (Little)
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from npexplore.machine.machine import Machine
from npexplore.machine.program import Visit
from npexplore.machine.resources import Delay, FifoServer
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.resources.server import mean_of
from npexplore.machine.workload import Workload
from npexplore.rows.distributions import Deterministic, Exponential, Periodic, Poisson
from npexplore.rows.expressions import Constant
from npexplore.solve.bounds import bounds
from npexplore.solve.estimate.replications import Subject
from npexplore.solve.prediction import Latency, Prediction, Utilization
from npexplore.solve.queueing.markovian import mmc, mmck
from npexplore.solve.queueing.sojourn import mmc_quantiles, mmck_quantiles, quantiles_of
from npexplore.solve.queueing.token_bucket import relative_chances

Floats = npt.NDArray[np.float64]
SHARES = (0.5, 0.95, 0.99, 0.999)
NEGLIGIBLE_LOSS = 30.0  # room x (1 - r), from which at most e^-30 of the packets are lost
MOST_PLACES = 20_000  # of M/M/c/K
HIGHEST_LOAD = 0.999  # of M/D/1, whose states are summed


@dataclass(frozen=True)
class Station:
    """A machine as one station: servers c, mean service time, whether it is exponential (else constant), threads.

    places: packets that fit into the receive buffer, if they occupy it until their visit ends (None: not so long).
    """

    name: str
    servers: int
    mean_s: float
    exponential: bool
    threads: int
    places: int | None


def station_of(machine: Machine, workload: Workload) -> Station | None:
    """Return a machine as one station (None: it has more than one station, or packets differ)."""
    (pool, *others) = machine.pools
    if others or pool.idle != "sleep" or len(workload.packet_bytes) > 1 or machine.jitter:
        return None
    body = machine.record(machine.record_pools(workload.columns)[0].columns, pool)
    timed = [step for step in body if not (isinstance(step, Visit) and isinstance(step.resource, Ingress))]
    if len(timed) != 1 or len(body) != 2 or not isinstance(timed[0], Visit):
        return None
    resource = timed[0].resource
    law: object
    if isinstance(resource, FifoServer) and type(resource) is FifoServer and resource.members == 1:
        law, units = resource.random or Deterministic(mean=resource.service), resource.units
    elif type(resource) is Delay:
        seconds = timed[0].operands.get("seconds")
        law = resource.random or (Deterministic(mean=seconds.value) if isinstance(seconds, Constant) else None)
        units = pool.count
    else:
        return None
    if not isinstance(law, Exponential | Deterministic) or not mean_of(law) > 0:
        return None
    ingress = machine.ingress
    cells = -(-int(workload.packet_bytes[0]) // ingress.cell_bytes) * ingress.cell_bytes
    places = ingress.capacity // cells if body[0] is timed[0] else None
    return Station(
        resource.name, min(units, pool.count), mean_of(law), isinstance(law, Exponential), pool.count, places
    )


def theory(subject: Subject) -> Prediction | None:
    """Return the exact answer (None: no formula applies)."""
    station = None if subject.windowed or subject.recorded else station_of(subject.machine, subject.workload)
    if station is None:
        return None
    process = subject.workload.process()
    c, mean, room = station.servers, station.mean_s, subject.waiting_room
    if process is None:
        return _saturated(subject, station)
    load = process.rate * mean / c
    if load >= 1 or type(process) not in (Poisson, Periodic):
        return None
    if isinstance(process, Poisson) and station.exponential:
        if station.places is not None and station.places <= MOST_PLACES:
            return _limited(subject, station, process.rate)
        if room * (1 - load) < NEGLIGIBLE_LOSS:
            return None
        waits, stay = mmc_quantiles(SHARES, process.rate, mean, c), mmc(process.rate, mean, c).mean_response.item()
        return _answer(subject, f"M/M/{c}", process.rate, Latency(stay, *waits.tolist()))
    if station.exponential or room * (1 - load) < NEGLIGIBLE_LOSS:
        return None
    if isinstance(process, Periodic):
        return _answer(subject, f"D/D/{c}", process.rate, Latency(*[mean] * 5))
    if c > 1 or load > HIGHEST_LOAD:
        return None
    wait = process.rate * mean**2 / (2 * (1 - load))
    tails = md1_quantiles(SHARES, process.rate, mean)
    return _answer(subject, "M/D/1 (Pollaczek-Khinchine, Franx)", process.rate, Latency(mean + wait, *tails.tolist()))


def _saturated(subject: Subject, station: Station) -> Prediction | None:
    """Return the answer for saturated arrivals, for a server per thread, or one server for all threads; else None."""
    c, threads, mean = station.servers, station.threads, station.mean_s
    if c not in (1, threads):
        return None  # the distribution of waits is unknown
    stay = threads * mean / c
    tails = [stay] * len(SHARES)
    if station.exponential:
        from scipy.special import gammaincinv

        tails = [mean * float(gammaincinv(threads / c, share)) for share in SHARES]
    return _answer(subject, "saturated: c / E[s], and Little's law", c / mean, Latency(stay, *tails))


def _limited(subject: Subject, station: Station, rate: float) -> Prediction:
    """Return the answer of M/M/c/K."""
    c, k, mean = station.servers, station.places or 1, station.mean_s
    means, tails = mmck(rate, mean, c, k), mmck_quantiles(SHARES, rate, mean, c, k)
    loss, latency = means.loss.item(), Latency(means.mean_response.item(), *tails.tolist())
    return _answer(subject, f"M/M/{c}/{k}", rate * (1 - loss), latency, loss)


def md1_quantiles(shares: Sequence[float], rate: float, service_s: float) -> Floats:
    """Return quantiles (n,) of the time in M/D/1, in seconds; shares (n,): the quantiles' shares of packets."""
    from scipy.special import gammaln

    load = rate * service_s
    most = int(np.ceil(40 / (1 - load))) + 40  # packets inside; larger numbers have a probability below e^-40
    p = (1 - load) * relative_chances(load, most + 1)
    upto = np.concatenate([np.cumsum(p)[1:], np.ones(most)])  # probability of at most m + 1 inside

    def longer(t: Floats) -> Floats:
        shares = np.ones(t.shape)
        for at, stay in np.ndenumerate(t):
            wait = stay - service_s
            if wait >= 0:
                k = int(np.ceil(wait / service_s)) or 1
                u, j = rate * (k * service_s - wait), np.arange(k)
                shares[at] = 1 - float(upto[k - 1 - j] @ np.exp(j * np.log(max(u, 1e-300)) - u - gammaln(j + 1)))
                if wait == 0:
                    shares[at] = load
        return shares

    return quantiles_of(shares, longer, service_s)


def _answer(subject: Subject, name: str, rate: float, latency: Latency, loss: float | None = None) -> Prediction:
    process = subject.workload.process()
    base = bounds(subject.machine, subject.workload)
    share = rate / base.rate_pps
    return replace(
        base, solver="estimate", rate_pps=rate, throughput_bps=base.throughput_bps * share, latency_s=latency,
        utilization={n: Utilization(u.busy * share, u.blocked) for n, u in base.utilization.items()},
        exact=True, approximation=f"exact: {name}", loss=None if process is None else loss or 0.0,
        offered_pps=None if process is None else process.rate, breakdown=None, about={"precision": 0.0, "runs": 0},
    )  # fmt: skip
