"""Solves a network file by its Markov chain: exact if there are few enough states, with a certified error of each mean.

The states also cover networks without a product form (blocking, limits, forks, priorities, batches, phases); all times
must consist of exponential phases. Open classes without limits have infinitely many states. Their chain is cut at a
number of customers, which grows until almost no arrival finds the network full; the answer names the cut.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from npexplore._kernels import network_chain as kernel
from npexplore.errors import RefusedError
from npexplore.networks.chain_tables import ChainTables
from npexplore.networks.chains import chains_of
from npexplore.networks.records import Network
from npexplore.networks.result import ClassResult, NetworkResult, StationClassResult, StationResult, busiest, refusal
from npexplore.networks.times import AnyTime
from npexplore.solve.chains import Chain, explore, stationary
from npexplore.solve.chains.chain import Array
from npexplore.solve.chains.stationary import Stationary
from npexplore.solve.queueing.inputs import Floats

FIRST_CUT, MOST_CUT = 16, 8192  # first and largest number of open customers in a chain that is cut
NEXT_TO_NOBODY = 1e-9  # target for the share of arrivals that find a cut chain full
LARGEST_CUT = 1e-4  # largest acceptable share of such arrivals
MOST_STATES = 1_000_000
AT_ONCE, FIRST_ARCS = 4096, 1 << 15  # states that are expanded together, initial room for their transitions
MOST_NUMBERS = 50_000_000  # numbers in the arrays of all states


class Solved(NamedTuple):
    """A network's chain: its tables, rewards and steady state."""

    tables: ChainTables
    states: Array
    chain: Chain
    rewards: Floats
    answer: Stationary


def solve_ctmc(network: Network, most_states: int = MOST_STATES, most_bytes: int | None = None) -> NetworkResult:
    """Answer by the network's Markov chain; refuses times without phases and chains with too many states."""
    try:
        return _result(network, solve_chain(network, most_states, most_bytes))
    except RefusedError as error:
        return refusal(network, "ctmc", str(error))


def solve_chain(network: Network, most_states: int = MOST_STATES, most_bytes: int | None = None) -> Solved:
    """Return the chain of a network and its steady state. Raises RefusedError."""
    closed = sum(customers.population or 0 for customers in network.classes.values())
    if not any(customers.arrivals for customers in network.classes.values()):
        return _solve(network, closed, most_states, most_bytes)
    cut, best, before = FIRST_CUT, None, (0, 1.0)
    while True:
        try:
            solved = _solve(network, closed + cut, most_states, most_bytes)
        except RefusedError:
            if best is None:
                raise
            break
        best, share = solved, _cut(solved)
        if share <= NEXT_TO_NOBODY or cut >= MOST_CUT:
            break
        # the share of arrivals that find no room decreases about geometrically with the room
        decay = (np.log(share) - np.log(before[1])) / (cut - before[0])
        needed = cut + np.log(NEXT_TO_NOBODY / share) / decay if decay < 0 else np.inf
        before, cut = (cut, share), int(min(max(1.1 * needed, cut + 8), 3 * cut, MOST_CUT))
    if _cut(best) > LARGEST_CUT:
        raise RefusedError(
            f"open classes have no end of states: with {best.tables.most} customers ({len(best.states)} states) "
            f"{_cut(best):.2g} of the arrivals find no room, and more have more than {most_states} states"
        )
    return best


def _cut(solved: Solved) -> float:
    """Return the share of arrivals that find a cut chain full."""
    R = solved.tables.R
    arrival_rate = sum(customers.arrivals.rate for customers in solved.tables.classes if customers.arrivals)
    return float(solved.answer.mean[-R:].sum()) / arrival_rate


def find_states(tables: ChainTables, most_states: int, most_bytes: int | None) -> tuple[Array, Chain, Floats]:
    """Return all states, their chain, and the rewards of each state; raises RefusedError."""
    columns = 2 * tables.K * tables.R + tables.K + 4 * tables.R
    rules, room = tables.rules(), FIRST_ARCS
    rewards: list[Floats] = []
    follow: Any = kernel.follow

    def successors(states: Array) -> tuple[Array, Array, Floats]:
        nonlocal room
        state_rewards, progress = np.zeros((len(states), columns)), np.zeros(2, np.int64)
        parts: list[tuple[Array, Array, Floats]] = []
        while progress[0] < len(states):
            origin, following = np.empty(room, np.int32), np.empty((room, tables.width), np.int32)
            rate, first_state, progress[1] = np.empty(room), int(progress[0]), 0
            status = follow(rules, states, origin, following, rate, state_rewards, progress)
            if status == kernel.STUCK:
                raise RefusedError(
                    f"deadlock: no customer can move any more in {describe(tables, states[progress[0]])}"
                )
            if status == kernel.ENDLESS:
                raise RefusedError("customers go round for ever without any time passing")
            if progress[0] == first_state:  # one state has more transitions than there is room
                room *= 2
            parts.append((origin[: progress[1]], following[: progress[1]], rate[: progress[1]]))
        rewards.append(state_rewards)
        origin, following, rate = (np.concatenate(column) for column in zip(*parts, strict=True))
        return origin, following, rate

    limit = min(most_states, MOST_NUMBERS // tables.width)
    states, transitions = explore(
        tables.start(), successors, limit, most_bytes, at_once=AT_ONCE, state_bytes=16 * columns
    )
    return states, transitions, np.concatenate(rewards)


def _solve(network: Network, max_customers: int, most_states: int, most_bytes: int | None) -> Solved:
    tables = ChainTables(network, max_customers)
    states, transitions, rewards = find_states(tables, most_states, most_bytes)
    return Solved(tables, states, transitions, rewards, stationary(transitions, rewards))


def describe(tables: ChainTables, row: Array) -> str:
    """Return a state in words: where each customer is, and which room it waits for."""
    place = int(tables.size[kernel.Z_VARIABLES])
    lists = int(tables.size[kernel.Z_LISTS])
    length = row[place : place + lists]
    place += lists
    customers = []
    for k in range(lists):
        for _ in range(int(length[k])):
            code = int(row[place])
            place += 1
            name = tables.names[code & (kernel.CLASSES - 1)]
            if k < tables.K:
                station = [*tables.stations, "think_time"][k]
                customers.append(f"{name} at {station!r}" + (" (done)" if code & kernel.HELD else ""))
            else:
                customers.append(f"{name} waits for room at {tables.limit_names[k - tables.K]!r}")
                place += 1
    return "; ".join(customers[:8]) or "the empty network"


def _result(network: Network, solved: Solved) -> NetworkResult:
    tables, mean = solved.tables, solved.answer.mean
    K, R = tables.K, tables.R
    error = solved.answer.error
    number, work = mean[: K * R].reshape(K, R), mean[K * R : K * R + K]
    ended = mean[K * R + K : 2 * K * R + K].reshape(K, R)
    done, lost, in_system, _ = mean[2 * K * R + K :].reshape(4, R)
    stations, rows = {}, {}
    for k, (name, station) in enumerate(network.station.items()):
        x, total = float(ended[k].sum()), float(number[k].sum())
        response = total / x if x else None
        busy = float(work[k]) / station.fullest
        if station.progressive and not station.rates:
            wait = total / x - _mean_service(network, name, ended[k]) if x else None
        else:
            wait = (total - float(work[k])) / x if x and station.discipline != "delay" else 0.0
        stations[name] = StationResult(
            utilization=None if station.discipline == "delay" else busy, throughput=x, mean_number=total,
            mean_wait=None if station.rates else wait, mean_response=response,
        )  # fmt: skip
        rows[name] = {
            c: StationClassResult.of(float(number[k, r]), float(ended[k, r]), _service(network, c, name), station)
            for r, c in enumerate(network.classes)
            if name in network.classes[c].service
        }
    classes = {}
    lost_only_on_arrival = _lost_at_once(network)
    chains = chains_of(network)
    for r, name in enumerate(network.classes):
        passes = float(done[r] + lost[r])
        members = chains.of == chains.of[r]  # Little's law holds for the whole chain of classes
        has_response = lost_only_on_arrival and done[r] > 0 and done[r] >= (1 - 1e-9) * done[members].sum()
        response = float(in_system[members].sum() / done[r]) if has_response else None
        classes[name] = ClassResult(
            float(done[r]), response, loss=float(lost[r]) / passes if passes and not network.switches else None
        )
    share = _cut(solved) if any(one.arrivals for one in tables.classes) else 0.0
    note = f"open classes cut at {tables.most} customers, where {share:.1g} of them find no room" if share > 0 else None
    worst = float((error / np.maximum(np.abs(mean), 1e-3)).max())
    answer = NetworkResult(
        "ctmc", share == 0 and worst < 1e-6, stations, classes, note, bottleneck=busiest(stations),
        station_classes=rows, states=len(solved.states), error=worst,
    )  # fmt: skip
    if note is None and worst >= 1e-6:
        answer = replace(answer, approximation=f"Gauss-Seidel sweeps, certified within {worst:.1g}")
    return answer


def _lost_at_once(network: Network) -> bool:
    """Return whether customers are lost only before their first visit: Little's law then gives the others' response."""
    drops = {name for name, s in network.station.items() if s.capacity is not None and s.when_full == "drop"}
    drops |= {name for region in network.region.values() if region.when_full == "drop" for name in region.stations}
    for name in network.classes:
        for start, route in network.routes(name).items():
            if start in network.station or start in network.fork:
                inside = [region.stations for region in network.region.values() if start in region.stations]
                if any(
                    target in drops and not any(target in stations for stations in inside) for target, _, _ in route
                ):
                    return False
    return True


def _service(network: Network, name: str, station: str) -> float:
    time: AnyTime = network.classes[name].service[station]
    return time.moments()[0]


def _mean_service(network: Network, station: str, flow: Floats) -> float:
    means = [
        _service(network, c, station) if station in customers.service else 0.0
        for c, customers in network.classes.items()
    ]
    return float(flow @ np.array(means) / flow.sum())
