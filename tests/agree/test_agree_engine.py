"""The event engine against exact results of queueing theory.

Each estimate is the mean over independent seeds; it must lie within four standard errors (computed from the spread over
those seeds) of the exact value, and the standard error must be below 1 % of it, so that a wrong engine cannot hide.
"""

from typing import NamedTuple

import numpy as np
import pytest
from reference.engine_arrays import Arrays, streams
from reference.event_engine import Row

from npexplore._kernels import engine as e

TICKS = 1024  # per mean service: rounding to ticks does not show
WARM_UP = 5_000
SEEDS = 8


class Window(NamedTuple):
    """What happened after the warm-up, times in mean services."""

    time: float
    packets: np.ndarray
    latency: np.ndarray
    histogram: np.ndarray
    counters: np.ndarray
    integrals: np.ndarray

    @property
    def mean_latency(self):
        return self.latency.sum() / self.packets.sum()

    @property
    def throughput(self):
        return self.packets.sum() / self.time


def observe(seed, packets, program, resources, tokens, **more):
    """Run `packets` packets after the warm-up; `tokens` start at row 0 or are (row, registers, priority)."""
    tokens = [(0, [], 8)] * tokens if isinstance(tokens, int) else tokens
    keys = streams(program, seed + 1)
    arrays = Arrays(program, [(free, *more.pop("disciplines", ["FIFO"])) for free in resources], tokens, keys, **more)

    def snapshot():
        integrals = np.array([arrays.integrals(r) for r in range(len(resources))])
        return arrays.now, arrays.done.copy(), arrays.hist.copy(), arrays.counters.copy(), integrals

    assert arrays.advance(until_done=WARM_UP) == "COUNT_UP"
    before = snapshot()
    assert arrays.advance(until_done=WARM_UP + packets) == "COUNT_UP"
    time, done, histogram, counters, integrals = (b - a for a, b in zip(before, snapshot(), strict=True))
    return Window(
        time / TICKS, done[:, e.D_COUNT], done[:, e.D_LATENCY] / TICKS, histogram, counters, integrals / TICKS
    )


def check(measure, *exact):
    """Compare the mean of `measure(seed)` over the seeds with the exact values."""
    values = np.array([measure(seed) for seed in range(SEEDS)]).reshape(SEEDS, -1)
    errors = values.std(axis=0, ddof=1) / SEEDS**0.5
    means = values.mean(axis=0)
    assert (errors < 0.01 * np.array(exact)).all(), (errors, exact)
    assert (abs(means - exact) <= 4 * errors).all(), (means, errors, exact)


def poisson(rate, *job, target=3):
    """A source of packets that run `job`."""
    return [
        Row("WAIT", A=round(TICKS / rate), x="EXPONENTIAL"),
        Row("FORK", x="NEW_PACKET", target=target),
        Row("JUMP"),
        *job,
    ]


def exponential(resource, mean=1.0, **more):
    return Row("SERVE", A=resource, B=round(mean * TICKS), x="EXPONENTIAL", **more)


# ---- open queues


# name: (operands of SERVE with mean 1, squared coefficient of variation)
SERVICES = {
    "fixed": ({"B": TICKS}, 0),
    "exponential": ({"B": TICKS, "x": "EXPONENTIAL"}, 1),
    "uniform on 0..2": ({"C": 2 * TICKS, "x": "UNIFORM"}, 1 / 3),
    "Erlang of 4 stages": ({"B": TICKS, "C": 4, "x": "ERLANG"}, 1 / 4),
    "3/2 or 1/2, exponential": ({"B": 3 * TICKS // 2, "C": TICKS // 2, "y": 2**29, "x": "HYPEREXPONENTIAL"}, 1.5),
    "2 or 1/2, from a table": ({"x": "EMPIRICAL"}, 1 / 2),
}
TABLE = ((TICKS // 2, 2**54 // 3), (2 * TICKS, 2**53))


@pytest.mark.parametrize(("operands", "variation"), SERVICES.values(), ids=SERVICES)
def test_one_server_with_poisson_arrivals(operands, variation):
    """M/G/1 at 0.8, Pollaczek and Khinchine: mean in system 1 + 0.8 (1 + c^2) / (2 (1 - 0.8))."""
    program = poisson(0.8, Row("SERVE", **operands), Row("DONE"), Row("END"))

    def measure(seed):
        window = observe(seed, 400_000, program, [1], 1, spare=2_000, tables=[TABLE])
        return window.mean_latency, window.throughput, 1 - window.integrals[0, 0] / window.time

    check(measure, 1 + 0.8 * (1 + variation) / 0.4, 0.8, 0.8)


def test_one_exponential_server_has_exponential_times_in_system():
    """M/M/1 at 0.8: the share above 15 services is exp(-3); numbers in line and system by Little's law."""
    program = poisson(0.8, exponential(0), Row("DONE"), Row("END"))
    edge = 15 * TICKS  # the lower edge of bin 32 * 8 + 60
    assert edge == 60 << 8

    def measure(seed):
        window = observe(seed, 800_000, program, [1], 1, spare=2_000)
        busy, waiting = window.time - window.integrals[0, 0], window.integrals[0, 1]
        assert waiting + busy == pytest.approx(window.latency.sum(), rel=2e-3)  # but for those inside at both ends
        return window.histogram[0, 32 * 8 + 60 :].sum() / window.packets.sum() / np.exp(-3), waiting / window.time

    values = np.array([measure(seed) for seed in range(SEEDS)])
    errors = values.std(axis=0, ddof=1) / SEEDS**0.5
    assert (errors < [0.02, 0.04]).all()  # the tail is rare: 2 %
    assert (abs(values.mean(axis=0) - [1, 3.2]) <= 4 * errors).all()


def test_loss_of_a_finite_room():
    """M/M/1/5 at 0.8: a packet that finds five in the system is lost, share (1 - r) r^5 / (1 - r^6)."""
    program = [
        Row("WAIT", A=round(TICKS / 0.8), x="EXPONENTIAL"),
        Row("TRY", A=1, B=1, slot=3, target=4),
        Row("FORK", x="NEW_PACKET", target=6, slot=3),
        Row("JUMP"),
        Row("COUNT", B=1),
        Row("JUMP"),
        exponential(0),
        Row("DONE"),
        Row("GIVE", slot=0),
        Row("END"),
    ]

    def measure(seed):
        window = observe(seed, 300_000, program, [1, 5], 1, spare=6, counters=1)
        return window.counters[0] / (window.packets.sum() + window.counters[0])

    check(measure, 0.2 * 0.8**5 / (1 - 0.8**6))


def test_two_servers():
    """M/M/2 at 0.8 a server: mean in system 1 / (1 - 0.8^2)."""
    program = poisson(1.6, exponential(0), Row("DONE"), Row("END"))
    check(lambda seed: observe(seed, 300_000, program, [2], 1, spare=2_000).mean_latency, 1 / (1 - 0.8**2))


def test_priorities_in_line():
    """Non-preemptive M/M/1, 0.3 before 0.5 (Cobham): waits R / (1 - 0.3), R / ((1 - 0.3) (1 - 0.8)), R = 0.8."""
    first = poisson(0.3, exponential(0, z=1), Row("DONE", A=0), Row("END"))
    second = poisson(0.5, exponential(0, z=2), Row("DONE", A=1), Row("END"), target=len(first) + 3)
    program = [*first, *second]
    program[len(first) + 2] = Row("JUMP", target=len(first))
    tokens = [(0, [], 8), (len(first), [], 8)]

    def measure(seed):
        window = observe(seed, 400_000, program, [1], tokens, spare=2_000, classes=2, disciplines=["KEYED"])
        return window.latency / window.packets

    check(measure, 1 + 0.8 / 0.7, 1 + 0.8 / (0.7 * 0.2))


# ---- blocking


def test_two_stations_without_room_between_them():
    """A saturated tandem, exponential: throughput 2/3; the first station is blocked 1/3 of the time."""
    program = [
        Row("TAKE", A=0, B=1, slot=0),
        Row("WAIT", A=TICKS, x="EXPONENTIAL"),
        Row("TAKE", A=1, B=1, slot=1),
        Row("GIVE", slot=0),
        Row("WAIT", A=TICKS, x="EXPONENTIAL"),
        Row("GIVE", slot=1),
        Row("DONE"),
        Row("JUMP"),
    ]

    def measure(seed):
        window = observe(seed, 200_000, program, [1, 1], 3)
        assert window.integrals[0, 0] == window.integrals[1, 2] == 0
        return window.throughput, window.integrals[0, 2] / window.time, window.integrals[1, 0] / window.time

    check(measure, 2 / 3, 1 / 3, 1 / 3)


@pytest.mark.parametrize("room", [1, 2, 5])
def test_two_stations_with_a_finite_ring(room):
    """A saturated tandem with K places between the stations: throughput (K + 2) / (K + 3)."""
    program = [
        Row("WAIT", A=TICKS, x="EXPONENTIAL"),
        Row("TAKE", A=0, B=1),
        Row("PUSH", A=0, slot=5),
        Row("PUT", A=1, B=1),
        Row("JUMP"),
        Row("TAKE", A=1, B=1),
        Row("POP", A=0, slot=5),
        Row("PUT", A=0, B=1),
        Row("WAIT", A=TICKS, x="EXPONENTIAL"),
        Row("DONE"),
        Row("JUMP", target=5),
    ]
    tokens = [(0, [], 8), (5, [], 8)]

    def measure(seed):
        return observe(seed, 200_000, program, [room, 0], tokens, rings=[(room, 1)]).throughput

    check(measure, (room + 2) / (room + 3))


# ---- closed networks and joins


def buzen(population, demands, servers):
    """Throughput of a closed product-form network (Buzen 1973), stations with so many servers."""
    total = np.array([1.0])
    for demand, count in zip(demands, servers, strict=True):
        factors = [demand / min(n, count) for n in range(1, population + 1)]
        total = np.convolve(total, np.cumprod([1.0, *factors]))[: population + 1]
    return total[-2] / total[-1]


@pytest.mark.parametrize("held", [False, True], ids=["SERVE", "TAKE, WAIT, GIVE"])
def test_closed_network_of_sixteen_threads(held):
    """Engines 4 x 40, hash 8, one of four banks 30, bus 4 (cycles, exponential): 0.088846 packets a cycle."""

    def visit(resource, mean, **more):
        if not held:
            return [exponential(resource, mean, **more)]
        return [
            Row("TAKE", A=resource, B=1, slot=2, **more),
            Row("WAIT", A=round(mean * TICKS), x="EXPONENTIAL"),
            Row("GIVE", slot=2),
        ]

    program = [
        *visit(0, 40),
        *visit(1, 8),
        Row("DRAW", A=4, x="BELOW", slot=5),
        *visit(2, 30, ra=5),
        *visit(6, 4),
        Row("DONE"),
        Row("JUMP"),
    ]
    exact = buzen(16, [40, 8, 7.5, 7.5, 7.5, 7.5, 4], [4, 1, 1, 1, 1, 1, 1])
    assert exact == pytest.approx(0.088846, abs=5e-7)
    check(lambda seed: observe(seed, 100_000, program, [4, 1, 1, 1, 1, 1, 1], 16).throughput, exact)


def test_join_of_three_exponentials():
    """The longest of three: mean 1 + 1/2 + 1/3."""
    program = [
        *[Row("FORK", x="JOINED", target=6)] * 3,
        Row("JOIN"),
        Row("DONE"),
        Row("JUMP"),
        Row("WAIT", A=TICKS, x="EXPONENTIAL"),
        Row("END"),
    ]
    check(lambda seed: observe(seed, 50_000, program, [], 1, spare=3).mean_latency, 11 / 6)
