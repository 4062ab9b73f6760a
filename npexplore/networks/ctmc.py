"""A network file by its Markov chain: exact where the states are few enough, with a certified error of each mean.

What no product form covers (blocking, limits, forks, priorities, batches, phases) is in the states; times have to be
made of exponential phases. Open classes without limits have no end of states: they are cut at a number of customers,
which grows until next to nobody finds the network so full; the answer then names it.
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

FIRST_CUT, MOST_CUT = 16, 8192  # customers that are looked at
NEXT_TO_NOBODY = 1e-9  # share of the arrivals that may find no room in a chain that is cut
LARGEST_CUT = 1e-4
MOST_STATES = 1_000_000
AT_ONCE, FIRST_ARCS = 4096, 1 << 15  # states that are followed together, and room for what follows on them
MOST_NUMBERS = 50_000_000  # in all states


class Solved(NamedTuple):
    """A network's chain: its tables, rewards and steady state."""

    tables: ChainTables
    states: Array
    chain: Chain
    rewards: Floats
    answer: Stationary


def solve_ctmc(network: Network, most_states: int = MOST_STATES, most_bytes: int | None = None) -> NetworkResult:
    """Answer by the network's Markov chain; refused where times have no phases and where it has too many states."""
    try:
        return _result(network, solve_chain(network, most_states, most_bytes))
    except RefusedError as error:
        return refusal(network, "ctmc", str(error))


def solve_chain(network: Network, most_states: int = MOST_STATES, most_bytes: int | None = None) -> Solved:
    """Return the chain of a network and its steady state. Raises RefusedError."""
    closed = sum(one.population or 0 for one in network.classes.values())
    if not any(one.arrivals for one in network.classes.values()):
        return _solve(network, closed, most_states, most_bytes)
    most, best, before = FIRST_CUT, None, (0, 1.0)
    while True:
        try:
            solved = _solve(network, closed + most, most_states, most_bytes)
        except RefusedError:
            if best is None:
                raise
            break
        best, share = solved, _cut(solved)
        if share <= NEXT_TO_NOBODY or most >= MOST_CUT:
            break
        # who finds no room falls about geometrically with the room
        falls = (np.log(share) - np.log(before[1])) / (most - before[0])
        needed = most + np.log(NEXT_TO_NOBODY / share) / falls if falls < 0 else np.inf
        before, most = (most, share), int(min(max(1.1 * needed, most + 8), 3 * most, MOST_CUT))
    if _cut(best) > LARGEST_CUT:
        raise RefusedError(
            f"open classes have no end of states: with {best.tables.most} customers ({len(best.states)} states) "
            f"{_cut(best):.2g} of the arrivals find no room, and more have more than {most_states} states"
        )
    return best


def _cut(solved: Solved) -> float:
    """Return the share of arrivals that a chain that was cut does not let in."""
    R = solved.tables.R
    come = sum(one.arrivals.rate for one in solved.tables.classes if one.arrivals)
    return float(solved.answer.mean[-R:].sum()) / come


def find_states(tables: ChainTables, most_states: int, most_bytes: int | None) -> tuple[Array, Chain, Floats]:
    """Return all states, their chain and the rewards of each state. Raises RefusedError."""
    columns = 2 * tables.K * tables.R + tables.K + 4 * tables.R
    rules, room = tables.rules(), FIRST_ARCS
    rewards: list[Floats] = []
    follow: Any = kernel.follow

    def successors(states: Array) -> tuple[Array, Array, Floats]:
        nonlocal room
        earned, progress = np.zeros((len(states), columns)), np.zeros(2, np.int64)
        parts: list[tuple[Array, Array, Floats]] = []
        while progress[0] < len(states):
            origin, following = np.empty(room, np.int32), np.empty((room, tables.width), np.int32)
            rate, done, progress[1] = np.empty(room), int(progress[0]), 0
            status = follow(rules, states, origin, following, rate, earned, progress)
            if status == kernel.STUCK:
                raise RefusedError(
                    f"deadlock: no customer can move any more in {describe(tables, states[progress[0]])}"
                )
            if status == kernel.ENDLESS:
                raise RefusedError("customers go round for ever without any time passing")
            if progress[0] == done:  # one state has more arcs
                room *= 2
            parts.append((origin[: progress[1]], following[: progress[1]], rate[: progress[1]]))
        rewards.append(earned)
        origin, following, rate = (np.concatenate(column) for column in zip(*parts, strict=True))
        return origin, following, rate

    limit = min(most_states, MOST_NUMBERS // tables.width)
    states, transitions = explore(
        tables.start(), successors, limit, most_bytes, at_once=AT_ONCE, state_bytes=16 * columns
    )
    return states, transitions, np.concatenate(rewards)


def _solve(network: Network, most: int, most_states: int, most_bytes: int | None) -> Solved:
    tables = ChainTables(network, most)
    states, transitions, rewards = find_states(tables, most_states, most_bytes)
    return Solved(tables, states, transitions, rewards, stationary(transitions, rewards))


def describe(tables: ChainTables, row: Array) -> str:
    """Return a state in words: where each customer is and what it waits for."""
    at = int(tables.size[kernel.Z_VARIABLES])
    lists = int(tables.size[kernel.Z_LISTS])
    length = row[at : at + lists]
    at += lists
    said = []
    for k in range(lists):
        for _ in range(int(length[k])):
            code = int(row[at])
            at += 1
            name = tables.names[code & (kernel.CLASSES - 1)]
            if k < tables.K:
                where = [*tables.stations, "think_time"][k]
                said.append(f"{name} at {where!r}" + (" (done)" if code & kernel.HELD else ""))
            else:
                said.append(f"{name} waits for room at {tables.limit_names[k - tables.K]!r}")
                at += 1
    return "; ".join(said[:8]) or "the empty network"


def _result(network: Network, solved: Solved) -> NetworkResult:
    tables, mean = solved.tables, solved.answer.mean
    K, R = tables.K, tables.R
    error = solved.answer.error
    number, work = mean[: K * R].reshape(K, R), mean[K * R : K * R + K]
    ended = mean[K * R + K : 2 * K * R + K].reshape(K, R)
    done, lost, inside, _ = mean[2 * K * R + K :].reshape(4, R)
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
    whole = _lost_at_once(network)
    chains = chains_of(network)
    for r, name in enumerate(network.classes):
        gone = float(done[r] + lost[r])
        members = chains.of == chains.of[r]  # Little's law holds for all that become each other
        alone = whole and done[r] > 0 and done[r] >= (1 - 1e-9) * done[members].sum()
        response = float(inside[members].sum() / done[r]) if alone else None
        classes[name] = ClassResult(
            float(done[r]), response, loss=float(lost[r]) / gone if gone and not network.switches else None
        )
    share = _cut(solved) if any(one.arrivals for one in tables.classes) else 0.0
    how = f"open classes cut at {tables.most} customers, where {share:.1g} of them find no room" if share > 0 else None
    worst = float((error / np.maximum(np.abs(mean), 1e-3)).max())
    answer = NetworkResult(
        "ctmc", share == 0 and worst < 1e-6, stations, classes, how, bottleneck=busiest(stations),
        station_classes=rows, states=len(solved.states), error=worst,
    )  # fmt: skip
    if how is None and worst >= 1e-6:
        answer = replace(answer, approximation=f"Gauss-Seidel sweeps, certified within {worst:.1g}")
    return answer


def _lost_at_once(network: Network) -> bool:
    """Say whether nobody is lost who was at a station before: Little's law then gives the others' response."""
    drops = {name for name, one in network.station.items() if one.capacity is not None and one.when_full == "drop"}
    drops |= {name for region in network.region.values() if region.when_full == "drop" for name in region.stations}
    for name in network.classes:
        for start, route in network.routes(name).items():
            if start in network.station or start in network.fork:
                inside = [region.stations for region in network.region.values() if start in region.stations]
                if any(target in drops and not any(target in one for one in inside) for target, _, _ in route):
                    return False
    return True


def _service(network: Network, name: str, station: str) -> float:
    time: AnyTime = network.classes[name].service[station]
    return time.moments()[0]


def _mean_service(network: Network, station: str, flow: Floats) -> float:
    means = [_service(network, c, station) if station in one.service else 0.0 for c, one in network.classes.items()]
    return float(flow @ np.array(means) / flow.sum())
