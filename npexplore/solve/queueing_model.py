"""Solve a machine as a closed queueing network: threads are customers, servers are stations, other time is think time.

Product form is assumed (exponential service, first come first served). Servers that are visited while a packet holds
another resource (a DRAM's banks, commands and bus inside its controller slots; visits under a lock) become one
flow-equivalent station with the throughput of that sub-network alone for 1..slots customers (levels.py). A thread that
belongs to an engine contends only with the threads of the same engine. With open arrivals the whole machine is one
load-dependent server behind the receive buffer: a birth-death chain, whose waits are those of exponential times
x (c_a^2 + c_s^2) / 2. The same few kernel calls solve all points of a batch (solve/batch.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from npexplore.errors import ModelError, RefusedError, SimulationError
from npexplore.machine.machine import Machine
from npexplore.machine.under_load import UnderLoad, under_load
from npexplore.machine.workload import Workload
from npexplore.solve.assumed import approximation
from npexplore.solve.batch import Batch
from npexplore.solve.batch_answers import Answers
from npexplore.solve.batch_decisions import DividedError, agreed
from npexplore.solve.crossing import crossing
from npexplore.solve.event_graph import NEAR_FULL, is_event_graph, latency, takes_turns
from npexplore.solve.levels import ALIKE, Levels
from npexplore.solve.lone_resource import alone, may_be_alone
from npexplore.solve.pools_in_turn import MIN_VARIABILITY, dispersion, in_turn
from npexplore.solve.prediction import Latency, Prediction, bottlenecks
from npexplore.solve.queueing.finite_queue import finite_queues
from npexplore.solve.queueing.residual import Residual
from npexplore.solve.queueing.tails import found_quantiles
from npexplore.solve.receive_buffer import Answer, Rows, in_room, room
from npexplore.solve.residence import before_packets, brought_by, under_contention
from npexplore.solve.stations import LoadDependent
from npexplore.solve.stays import Found, Stay
from npexplore.solve.validity import (
    LIGHT_LOAD,
    check_alone,
    check_arrivals,
    check_bunching,
    check_forks,
    check_light,
    check_own_forks,
    check_steep,
    check_unseen,
    stays_busy,
)

Floats = npt.NDArray[np.float64]
FEW_VISITS = 3.0  # more visits of a packet at one server count as a loop
MAX_UTILIZATION = 0.999  # cap on the utilization by an open load
FULL_IN_ORDER = 0.8  # share of a reorder queue's places; above it, packets wait to enter until earlier ones may leave
SLACK = 1e-9  # relative rounding error
TESTED_LOAD = 0.95  # utilization up to which waits for recovering members were compared with simulation
RECOVERING_LOAD = 0.25  # utilization of recovering members up to which their waits are negligible
REFRESHED_LOAD = 0.55  # as TESTED_LOAD, where a server visited inside is unavailable at times (refresh)
HAND_OVER = 0.1  # share of the rate that waits for a lock may cost if all times are constant
SPARE_THREADS = 1.5  # threads per packet in the machine at which no packet waits for a thread
SHARES = (0.5, 0.95, 0.99, 0.999)  # of packets: the quantiles of a latency


def queueing(machine: Machine, workload: Workload, demands: UnderLoad | None = None) -> Prediction:
    """Return the queueing model's prediction; raises RefusedError where the model has no valid method.

    machine: what to solve. workload: its packets. demands: the machine's demands (None: computed here).
    """
    check_arrivals(machine, workload)
    batch = Batch.of([demands or under_load(machine, workload)])
    answers, solution = _solved(batch)
    mean_only = answers.prediction(0)
    breakdown = under_contention(batch.like, solution.stays, float(solution.latency[0]), mean_only.bottleneck)
    return replace(mean_only, latency_s=_tails(batch, solution, mean_only.latency_s), breakdown=breakdown)


def _tails(batch: Batch, solution: Found, latency: Latency) -> Latency:
    """Return a latency with quantiles for one pool with Poisson arrivals; other machines keep the mean alone."""
    stay, point = solution.stays[0], batch.like
    if len(solution.stays) > 1 or point.workload.arrivals != "poisson" or stay.curve is None or stay.longer is None:
        return latency
    assert latency.mean is not None
    probabilities = stay._replace(longer=np.ones(1)).chances()
    scv, chance = max(2.0 * float(stay.longer[0]) - 1.0, 0.0), max(float(batch.spread["threads"][0]) - point.scv, 0.0)
    loops = any(float(batch.visits[name][0]) > FEW_VISITS for name in batch.ceilings() if name in batch.visits)
    times = found_quantiles(SHARES, probabilities, stay.curve[0], latency.mean, scv, point.times, chance, loops)
    return Latency(latency.mean, *(float(quantile) for quantile in times))


def told_by(point: UnderLoad) -> bool | None:
    """Return the property that points of one batch share: whether they are event graphs.

    None: the point is solved in a batch of its own, because it may be a single resource.
    """
    return None if may_be_alone(point.machine) else is_event_graph(point.machine, point.workload)


def queueing_of(batch: Batch) -> Answers:
    """Return the queueing model's answers at all points of a batch; raises like `queueing` if any point is refused.

    The batch comes from `grouped(points, apart=told_by)`, or has one point.
    """
    try:
        return _solved(batch)[0]
    except DividedError as divided:
        parts = [np.flatnonzero(divided.of_points), np.flatnonzero(~divided.of_points)]
        return Answers.joined(batch, [(rows, queueing_of(batch.taken(rows))) for rows in parts])


def _solved(batch: Batch) -> tuple[Answers, Found]:
    """Return the answers and the solution behind them; latencies start when a packet begins to arrive."""
    answers, solution = _cycles(batch)
    if not brought_by(batch.like):
        return answers, solution
    solutions = [solution] if len(batch) == 1 else [_cycles(batch.taken(np.array([k])))[1] for k in range(len(batch))]
    before = [
        before_packets(batch.like, each.stays, answers.names[answers.bottleneck[k]]) for k, each in enumerate(solutions)
    ]
    return replace(answers, latency_s=answers.latency_s - np.array(before)), solution


def _cycles(batch: Batch) -> tuple[Answers, Found]:
    """Return the answers and the solution; the latency of a saturated packet is the whole cycle of its thread."""
    point, count = batch.like, len(batch)
    machine, workload = point.machine, point.workload
    check_arrivals(machine, workload)
    try:
        lone = alone(batch)
    except RefusedError as error:
        raise RefusedError(f"{error}; use `estimate`") from None
    if lone is None:
        check_alone(point)
    ceilings = {name: ceiling * (1 - point.servers[name].away) if name in point.servers else ceiling
                for name, ceiling in batch.ceilings().items()}  # fmt: skip
    if not ceilings:
        raise ModelError(f"{machine.name}: the program takes no time at any resource")
    places = None  # packets that the receive buffer holds, if it can overflow
    if workload.arrivals != "saturated":
        if lone is None:
            check_bunching(batch, ceilings)
        cell = machine.ingress.cell_bytes
        places = int(machine.ingress.capacity / float(np.mean(-(-workload.packet_bytes // cell) * cell)))
    several_pools = len(machine.pools) > 1
    try:
        solution = lone
        if solution is None:
            solve = in_turn if several_pools else _one_pool
            solution = solve(batch, ceilings, places)
            check_steep(batch, solution.stays, ceilings)
            if places is not None and stays_busy(batch):
                slow = replace(batch, offered=LIGHT_LOAD * np.min([*ceilings.values()], axis=0))
                check_light(batch, solve(slow, ceilings, places).latency)
    except RefusedError as error:
        raise RefusedError(f"{error}; use `estimate`") from None
    rate, extra = solution.rate, {} if places is None else {"loss": solution.loss}
    refuse_above(rate, ceilings, machine.name)
    if lone is None:
        check_unseen(batch, rate, solution.latency)
    utilization, busiest = batch.utilization(rate), batch.busiest(rate)
    for name, busy_share in solution.slower.items():
        busiest[name] = busiest[name] + busy_share
        utilization[name] = utilization[name] + busy_share
    for name in {name for net in solution.levels for name in (*net.groups, *net.handed_over)} & utilization.keys():
        utilization[name] = np.minimum(1.0, utilization[name])
    for name in (name for net in solution.levels for name in net.reorders if net.batch.like.servers[name].units):
        if np.any(utilization.get(name, 0.0) > FULL_IN_ORDER):
            raise RefusedError(
                f"queueing: {name!r} is full much of the time, and its packets, whose times vary, leave in order; "
                "use `estimate`"
            )
    names, number_of = bottlenecks(point.servers, busiest, count)
    if workload.arrivals != "saturated":
        arrivals_limit = (number_of == names.index("threads")) & (rate > 0.99 * batch.offered)
        names, number_of = (*names, "arrivals"), np.where(arrivals_limit, len(names), number_of)
    assumed = approximation(point, solution.levels)
    return Answers("queueing", batch, rate, names, number_of, utilization, solution.latency, assumed, extra), solution


def _one_pool(batch: Batch, ceilings: Mapping[str, Floats], places: int | None) -> Found:
    """Solve a machine of one pool: a closed network, or one behind a receive buffer."""
    machine, servers = batch.like.machine, batch.like.servers
    threads = machine.threads
    levels = Levels(batch, threads, machine.pools[0].home)
    utilization = np.max([batch.offered * batch.largest[name] for name in levels.recovering] or [np.zeros(1)], axis=0)
    rarely = agreed(utilization <= RECOVERING_LOAD) and not batch.like.demands.side_by_side
    if levels.recovers and places is not None and (not rarely or _members_keep_up(levels, batch, ceilings)):
        return _behind_members(levels, batch, ceilings)
    busy_behind = any(section.outlives for section in levels.sections.values()) or any(
        agreed(seconds != 0) for seconds in batch.overlap.values()
    )
    if places is not None and busy_behind:
        lone = Levels(batch, threads, machine.pools[0].home, lone=True)
        if lone.recovers and lone.visits_members_alone:
            _refuse_chosen_members(lone, batch)
        if lone.recovers and _members_keep_up(lone, batch, ceilings):
            return _behind_members(lone, batch, ceilings)
    for name in levels.recovering if places is not None else ():
        if np.any(batch.offered * batch.largest[name] > RECOVERING_LOAD):
            raise RefusedError(
                f"queueing: {name!r} stays busy behind a packet for more than {RECOVERING_LOAD:.0%} of the time, and "
                "arriving packets hold slots while they wait for it"
            )
    stations, solved, rate = beside(levels, ceilings)
    # servers that are not stations (a window of row commands) still limit the rate
    rate = np.minimum(rate, np.min([*ceilings.values()], axis=0))
    if is_event_graph(machine, batch.like.workload) and (places is None or _keeps_up(batch, ceilings)):
        return _scheduled(levels, batch, ceilings, stations, solved, places)
    if levels.handed_over and float(np.max(batch.spread["threads"])) <= SLACK:
        _refuse_ordered(levels, batch, ceilings, rate)
    capacity_packets = np.ones(len(batch)) if places is None else room(levels, stations, solved, places)
    slower: dict[str, Floats] = {}
    if places is None:
        check_own_forks(batch, rate, ceilings)
        for number, name in enumerate(station.name for station in stations):
            if name in levels.handed_over:
                server, waiting = servers[name], np.maximum(solved.queue_length[:, number] - 1, 0.0)
                wait_per_visit = server.wake_s * np.minimum(waiting, 1.0) + server.per_waiter_s * waiting
                slower[name] = rate * batch.visits[name] * wait_per_visit
        stay = Stay("threads", levels, threads / rate)
        return Found(rate, threads / rate, np.zeros_like(rate), [levels], slower, [stay])
    solution = _open(levels, batch, ceilings, capacity_packets, rate)
    if batch.aside:
        stay, slowed = solution.stays[0], levels.slowed
        assert stay.longer is not None
        assert stay.within is not None
        levels.slowed = {}  # without contention from forked work
        unslowed = _behind_arrivals(batch, levels.curve(threads), capacity_packets, stay.longer, stay.within)[1]
        levels.slowed = slowed
        check_forks(batch, solution.latency, unslowed)
    return solution


def _refuse_ordered(levels: Levels, batch: Batch, ceilings: Mapping[str, Floats], rate: Floats) -> None:
    """Raise RefusedError where a lock's hand-over takes time and constant times may keep threads from meeting there."""
    lowest_ceiling = np.min([*ceilings.values()], axis=0)
    always_meet = (levels.customers - 1) / batch.latency >= lowest_ceiling  # one thread fewer saturates it
    never_meet_rate = np.minimum(levels.customers / batch.latency, lowest_ceiling)
    if np.any((never_meet_rate > rate * (1 + HAND_OVER)) & ~always_meet):
        raise RefusedError(
            f"queueing: {levels.handed_over[0]!r} takes longer while packets wait for it, and all times are constant: "
            "the start of the threads decides whether they ever meet there"
        )


def _refuse_chosen_members(levels: Levels, batch: Batch) -> None:
    """Raise RefusedError where arriving packets choose recovering members other than uniformly at random."""
    name = next(iter(levels.recovering))
    shares = batch.members[name]
    if np.any((np.count_nonzero(shares, axis=1) > 1) & (np.ptp(shares, axis=1) > ALIKE * batch.largest[name])):
        raise RefusedError(f"queueing: packets prefer some members of {name!r}, which stay busy behind them")
    if takes_turns(batch.like.machine, batch.like.workload):
        raise _busy_in_turn(name)


def _busy_in_turn(name: str) -> RefusedError:
    return RefusedError(
        f"queueing: {name!r} stays busy behind a packet, and its members are visited in turn; with arrivals the wait "
        "is known only for members that are drawn at random"
    )


def _behind_members(levels: Levels, batch: Batch, ceilings: Mapping[str, Floats]) -> Found:
    """Solve recovering members with Poisson arrivals below their capacity; raises RefusedError for other arrivals."""
    _refuse_chosen_members(levels, batch)
    if not _members_keep_up(levels, batch, ceilings):
        name = next(iter(levels.recovering))
        raise RefusedError(
            f"queueing: {name!r} stays busy behind a packet; the wait of arriving packets is known only for Poisson "
            f"arrivals up to {_tested(levels):.0%} of the highest rate, with enough threads and room"
        )
    seconds = batch.latency + levels.waits_for_members(batch.offered)
    return Found(batch.offered, seconds, np.zeros(len(batch)), [levels], stays=[Stay("threads", levels, seconds)])


def _members_keep_up(levels: Levels, batch: Batch, ceilings: Mapping[str, Floats]) -> bool:
    """Say whether packets arrive at random up to a tested load and wait only for the recovering members."""
    waits = levels.waits_for_members(batch.offered)
    enough = min(batch.like.machine.threads, levels.places) >= SPARE_THREADS * batch.offered * (batch.latency + waits)
    light = batch.offered <= _tested(levels) * (1 + SLACK) * np.min([*ceilings.values()], axis=0)
    waits_there_only = levels.visits_members_alone and batch.like.workload.arrivals == "poisson"
    return bool(waits_there_only and _keeps_up(batch, ceilings) and agreed(enough & light))


def _tested(levels: Levels) -> float:
    """Return the share of the highest rate up to which waits for members were compared with simulation."""
    return (
        REFRESHED_LOAD
        if any(levels.servers[name].away for inside in levels.recovering.values() for name in inside)
        else TESTED_LOAD
    )


def _keeps_up(batch: Batch, ceilings: Mapping[str, Floats]) -> bool:
    """Say whether a machine forwards all arriving packets from an unlimited buffer."""
    highest_rate = NEAR_FULL * np.min([*ceilings.values()], axis=0)
    return (
        batch.like.workload.arrivals in ("poisson", "periodic")
        and not batch.like.machine.ingress.limited
        and agreed(batch.offered < highest_rate)
    )


def _scheduled(
    levels: Levels, batch: Batch, ceilings: Mapping[str, Floats], stations: Sequence[LoadDependent], solved: Residual,
    places: int | None,
) -> Found:  # fmt: skip
    """Solve a deterministic event graph: saturated at its roofline, or with arrivals below it."""
    levels.scheduled = True
    rate = np.min([*ceilings.values()], axis=0)
    if places is None:
        seconds = levels.customers / rate
        return Found(rate, seconds, np.zeros(len(batch)), [levels], stays=[Stay("threads", levels, seconds)])
    if levels.let_go:
        raise _busy_in_turn(levels.let_go[0])
    solution = _open(levels, batch, ceilings, room(levels, stations, solved, places), rate)
    return solution._replace(rate=batch.offered, latency=latency(batch, ceilings), loss=np.zeros(len(batch)))


def _open(levels: Levels, batch: Batch, ceilings: Mapping[str, Floats], most: Floats, rate: Floats) -> Found:
    """Solve a machine of one pool with open arrivals; rate (P,): saturated, most (P,): packets that it can hold."""
    threads = levels.customers
    levels.open_load = True
    slow_down(levels, ceilings, np.minimum(batch.offered, rate))
    # (c_a^2 + c_s^2) / 2, of arrivals and of packets' times at the servers that limit the saturated machine
    scv = batch.scv_at_fullest(ceilings, rate, threads)
    variability = np.maximum((dispersion(batch) + scv) / 2, MIN_VARIABILITY)
    curve = np.minimum(levels.curve(threads), rate[:, None])
    curve[:, -1] = rate  # with all threads busy, waits are shorter than behind random arrivals
    if agreed(variability != 1):  # waits inside are those of exponential times x variability
        levels.exponential = True
        curve[:, :-1] = np.minimum(levels.curve(threads)[:, :-1], curve[:, -1:])
    within = np.maximum((dispersion(batch) + batch.scv_in_turns(ceilings, rate)) / 2, MIN_VARIABILITY)
    answer = _behind_arrivals(batch, curve, most, variability, within)
    stay = Stay("threads", levels, answer[1], int(most[0]) - threads, batch.offered, curve, variability, within)
    return Found(*answer, [levels], stays=[stay])


def _behind_arrivals(batch: Batch, curve: Floats, most: Floats, variability: Floats, within: Floats) -> Answer:
    """Return throughput, mean time and loss ratio (P,) of the machine as one server with the workload's arrivals."""

    def solve(rows: Rows, places: int) -> Answer:
        offered, served = batch.offered[rows], curve[rows]
        return finite_queues(offered, served, places, variability[rows], 1 / served[:, 0], within[rows])

    return in_room(most, solve)


def beside(levels: Levels, ceilings: Mapping[str, Floats]) -> tuple[list[LoadDependent], Residual, Floats]:
    """Return stations, network and throughput X (P,) with forked work, for which no thread waits, as an open load.

    Forked work of a seconds per packet makes visits to a server 1 / (1 - X a) times longer. A server that only forked
    work visits limits X to its ceiling.
    """
    stations, network = levels.solve()
    rate, batch = network.throughput[:, -1], levels.batch
    if not (batch.aside or levels.divided or levels.reorders):
        return stations, network, rate
    shared = [ceilings[name] for name in (*batch.aside, *levels.divided) if name in ceilings]
    highest = np.min([np.full_like(rate, np.inf), *shared], axis=0)
    affects_packets = (
        levels.divided
        or levels.reorders
        or any(agreed(batch.aside[name] < batch.seconds[name]) for name in batch.aside)
    )
    if not affects_packets:
        return stations, network, np.minimum(rate, highest)

    def carried_beyond(rate: Floats) -> Floats:
        nonlocal stations, network
        slow_down(levels, ceilings, rate)
        stations, network = levels.solve()
        return network.throughput[:, -1] - rate

    rate = crossing(carried_beyond, np.zeros_like(rate), np.minimum(rate, highest))
    return stations, network, rate


def slow_down(levels: Levels, ceilings: Mapping[str, Floats], rate: Floats) -> None:
    """Set how much forked work, and visits under other holds, slow packets at a rate (P,)."""
    batch = levels.batch
    levels.divide(rate)
    levels.slowed = {
        name: 1.0 / (1.0 - np.minimum(rate / ceilings[name] * batch.aside[name] / batch.seconds[name], MAX_UTILIZATION))
        for name in batch.aside
    }


def refuse_above(rate: Floats, ceilings: Mapping[str, Floats], name: str) -> None:
    """Raise SimulationError where a rate (P,) is above the ceiling of a server or of the threads."""
    for resource, ceiling in ceilings.items():
        above = rate > ceiling * (1 + SLACK)
        if above.any():
            raise SimulationError(
                "law", f"{name}: queueing gives {rate[above][0]:.9g} packets a second, above the "
                f"{ceiling[above][0]:.9g} that {resource} alone allows",
            )  # fmt: skip
