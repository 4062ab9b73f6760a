"""Compiles a network file into tables of its Markov chain (`_kernels/network_chain.py`); refuses non-Markovian ones."""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from npexplore._kernels import network_chain as kernel
from npexplore.errors import RefusedError
from npexplore.networks.arrivals import AnyArrivals, arrival_phases
from npexplore.networks.chains import chains_of
from npexplore.networks.checks import turn_of, waits_for_room
from npexplore.networks.records import HIT, IN, MISS, OUT, Network
from npexplore.networks.single_station import speeds
from npexplore.networks.times import AnyTime, phases
from npexplore.rows.distributions import Batch
from npexplore.rows.phases import Phases
from npexplore.solve.chains.chain import Array
from npexplore.solve.queueing.inputs import Floats, Ints

KINDS = {
    "fifo": kernel.FIFO, "last": kernel.LCFS, "random": kernel.RANDOM, "priority": kernel.PRIORITY,
    "preemptive": kernel.PREEMPTIVE, "last_preempts": kernel.LAST_PREEMPTS, "polling": kernel.POLLING,
    "ps": kernel.SHARED, "delay": kernel.DELAY,
}  # fmt: skip
VISITS = {"exhaustive": kernel.EXHAUSTIVE, "gated": kernel.GATED, "limited": kernel.LIMITED}
POLICIES = {"lru": kernel.LRU, "fifo": kernel.FIRST_OUT, "random": kernel.RANDOM_OUT}
HOWS = {"chance": kernel.CHANCE, "in_turn": kernel.TURN, "shortest": kernel.SHORTEST}


def phase_arrays(times: Sequence[Phases]) -> tuple[Ints, Floats, Floats, Ints, Ints, Floats]:
    """Return the phases of all times in sequence, as the fields of `Rules` from `begin` to `next_chance`."""
    begin, leave, next_begin, jumps = [0], list[float](), [0], list[tuple[int, float]]()
    for time_phases in times:
        for i, row in enumerate(time_phases.rates):
            exit_rate = -row[i]
            leave.append(exit_rate)
            jumps += [(begin[-1] + j, rate / exit_rate) for j, rate in enumerate(row) if j != i and rate > 0]
            if (end_chance := 1 - (row.sum() - row[i]) / exit_rate) > 1e-12:
                jumps.append((-1, end_chance))
            next_begin.append(len(jumps))
        begin.append(len(leave))
    chance = np.concatenate([np.zeros(0), *(time_phases.first for time_phases in times)])
    next_phase, next_chance = (np.array([jump[k] for jump in jumps], kind) for k, kind in ((0, np.int64), (1, float)))
    return np.array(begin, np.int64), chance, np.array(leave), np.array(next_begin, np.int64), next_phase, next_chance


class ChainTables:
    """All arrays that the kernel reads, and the initial row of a search of states."""

    def __init__(self, network: Network, most: int) -> None:
        """Compile a network with at most `most` customers of all classes; raises RefusedError."""
        self.network = network
        self.names, self.stations = list(network.classes), list(network.station)
        self.classes = list(network.classes.values())
        K, R, F, H = len(self.stations) + 1, len(self.names), len(network.fork), len(network.cache)
        self.K, self.R, self.F, self.H = K, R, F, H
        if kernel.CLASSES <= R:
            raise RefusedError(f"a chain tells {kernel.CLASSES - 1} classes apart, the network has {R}")
        if kernel.PHASES - 1 <= K:
            raise RefusedError(f"a chain tells {kernel.PHASES - 2} stations apart, the network has {K - 1}")
        self.most = most
        self.branches = max((len(fork.stations) for fork in network.fork.values()), default=1)
        self.variables: list[int] = []  # initial values
        self._limits()
        self.times: list[Phases] = []
        self._services()
        self._polling()
        self._caches()
        self._routes()
        self._arrivals()
        waits = any(policy != kernel.DROP for policy in self.limit[:, kernel.M_POLICY])
        lists = K + (len(self.limit) if waits else 0)
        entries = most * self.branches
        self.width = len(self.variables) + lists + entries * (3 if waits else 1)
        self.size = np.zeros(kernel.Z_COLUMNS, np.int64)
        self.size[:] = len(self.variables), K, lists, R, K - 1, F, H, most, self.branches

    def _limits(self) -> None:
        network, K = self.network, self.K
        limits: list[tuple[int, int]] = []
        self.limit_names: list[str] = []
        self.station = np.zeros((K, kernel.T_COLUMNS), np.int64)
        self.station[:, kernel.T_VARIABLE :] = -1
        for k, (name, record) in enumerate(network.station.items()):
            self.station[k, : kernel.T_VARIABLE] = (
                KINDS[record.discipline], record.servers, VISITS[record.visits], record.most_a_visit,
            )  # fmt: skip
            if record.capacity is not None:
                self.station[k, kernel.T_LIMIT] = len(limits)
                limits.append((record.capacity, kernel.BLOCK if record.when_full == "block" else kernel.DROP))
                self.limit_names.append(name)
        self.station[K - 1, : kernel.T_VISIT] = kernel.DELAY, 1
        for name, region in network.region.items():
            for station in region.stations:
                self.station[self.stations.index(station), kernel.T_LIMIT2] = len(limits)
            limits.append((region.capacity, kernel.DROP if region.when_full == "drop" else kernel.DOOR))
            self.limit_names.append(name)
        self.limit = np.array(limits, np.int64).reshape(-1, kernel.M_COLUMNS)
        levels = max([1, *(len(s.rates) if s.rates else s.servers for s in network.station.values())])
        counts = np.arange(min(levels, self.most * self.branches) + 1)
        self.speed = np.ones((K, len(counts)))
        for k, record in enumerate(network.station.values()):
            self.speed[k, 0], self.speed[k, 1:] = 0.0, speeds(record, counts[1:])
        self.weight = np.ones((K, self.R))
        for k, record in enumerate(network.station.values()):
            for name, weight in record.weights.items():
                self.weight[k, self.names.index(name)] = weight

    def _phases(self, time: AnyTime, place: str) -> int:
        """Add the phases of a time; return its number."""
        phase_type = phases(time)
        if phase_type is None:
            raise RefusedError(f"{place}: a chain needs times of exponential phases, got {_tag(time)}")
        if len(phase_type.first) >= kernel.PHASES - 1:
            raise RefusedError(f"{place}: a chain tells {kernel.PHASES - 2} phases apart, got {len(phase_type.first)}")
        self.times.append(phase_type)
        return len(self.times) - 1

    def _services(self) -> None:
        self.first = np.full((self.K, self.R), -1, np.int64)
        self.thinks = np.zeros(self.R, np.int64)
        self.klass = np.zeros((self.R, kernel.C_COLUMNS), np.int64)
        ranks = sorted({c.priority for c in self.classes})
        for r, (name, customers) in enumerate(zip(self.names, self.classes, strict=True)):
            for station, time in customers.service.items():
                place = f"service of {name!r} at {station!r}"
                self.first[self.stations.index(station), r] = self._phases(time, place)
            if customers.think_time is not None:
                self.first[-1, r] = self._phases(customers.think_time, f"think_time of {name!r}")
                self.thinks[r] = 1
            self.klass[r, kernel.C_RANK] = ranks.index(customers.priority)

    def _polling(self) -> None:
        """Create the variables of each polling server; with switch-over times, it begins switching from a class."""
        self.switch = np.full((self.K, self.R), -1, np.int64)
        for k, (name, station) in enumerate(self.network.station.items()):
            if station.discipline != "polling":
                continue
            for c, time in station.switch_over.items():
                r = self.names.index(c)
                self.switch[k, r] = self._phases(time, f"switch_over from {c!r} at {name!r}")
                start = [r, 1 + int(np.argmax(self.times[-1].first)), 0]
            self.station[k, kernel.T_VARIABLE] = len(self.variables)
            self.variables += start if station.switch_over else [0] * kernel.P_COLUMNS

    def _caches(self) -> None:
        self.cache = np.zeros((self.H, kernel.H_COLUMNS), np.int64)
        chances: list[float] = []
        for h, cache in enumerate(self.network.cache.values()):
            node = self.K + self.F + 2 * h
            self.cache[h] = (
                cache.places, cache.items, POLICIES[cache.replace], len(self.variables), node, node + 1, len(chances),
            )  # fmt: skip
            self.variables += range(cache.places)
            chances += cache.chances()
        self.item_chance = np.array(chances)

    def _routes(self) -> None:
        network, K, F, H, R = self.network, self.K, self.F, self.H, self.R
        targets = {OUT: kernel.OUT} | {name: k for k, name in enumerate(self.stations)}
        targets |= {name: K + f for f, name in enumerate(network.fork)}
        targets |= {name: K + F + h for h, name in enumerate(network.cache)}
        starts = {name: targets[name] for name in (*self.stations, *network.fork)}
        ends = [f"{name}{end}" for name in network.cache for end in (HIT, MISS)]
        starts |= {end: K + F + e for e, end in enumerate(ends)}
        starts[IN] = K + F + 2 * H
        self.node = np.zeros(((K + F + 2 * H + 1) * R, kernel.N_COLUMNS), np.int64)
        all_branches: list[tuple[int, int, float]] = []
        for r, name in enumerate(self.names):
            for start, route in network.routes(name).items():
                waits_for_room(network, name, start)
                choice = self.classes[r].choose.get(start, "chance")
                row = self.node[starts[start] * R + r]
                row[kernel.N_BEGIN] = len(all_branches)
                branches = [(targets[node], self.names.index(next_class), chance) for node, next_class, chance in route]
                if choice == "in_turn" and len(branches) > 1:
                    counts = turn_of([chance for _, _, chance in route]) or []
                    branches = [branch for branch, n in zip(branches, counts, strict=True) for _ in range(n)]
                    row[kernel.N_VARIABLE] = len(self.variables)
                    self.variables.append(0)
                all_branches += branches
                row[kernel.N_END] = len(all_branches)
                row[kernel.N_HOW] = HOWS[choice] if len(branches) > 1 else kernel.CHANCE
        self.target_node = np.array([branch[0] for branch in all_branches], np.int64)
        self.target_class = np.array([branch[1] for branch in all_branches], np.int64)
        self.target_chance = np.array([branch[2] for branch in all_branches])
        fork_stations = [[self.stations.index(name) for name in fork.stations] for fork in network.fork.values()]
        self.fork_begin = np.concatenate([[0], np.cumsum([len(branch) for branch in fork_stations])]).astype(np.int64)
        self.fork_station = np.array([k for branch in fork_stations for k in branch], np.int64)

    def _arrivals(self) -> None:
        self.arrival = np.full((self.R, 2), -1, np.int64)
        begin, next_phases, rates, arrives = [0], [], [], []
        closed = chains_of(self.network).closed_classes
        for r, (name, record) in enumerate(zip(self.names, self.classes, strict=True)):
            self.klass[r, kernel.C_CLOSED] = closed[r]
            self.klass[r, kernel.C_SIZE] = 1
            if record.arrivals is None:
                continue
            phase_type = arrival_phases(record.arrivals)
            if phase_type is None:
                raise RefusedError(
                    f"arrivals of {name!r}: a chain needs times of exponential phases, got {_tag(record.arrivals)}"
                )
            if isinstance(record.arrivals, Batch):
                self.klass[r, kernel.C_SIZE] = record.arrivals.size
                self.klass[r, kernel.C_GEOMETRIC] = record.arrivals.sizes == "geometric" and record.arrivals.size > 1
            quiet, arrive = phase_type
            self.arrival[r, 0] = len(begin) - 1
            if len(quiet) > 1:
                self.arrival[r, 1] = len(self.variables)
                self.variables.append(0)
            for i in range(len(quiet)):
                for table, is_arrival in ((quiet, 0), (arrive, 1)):
                    for j in np.flatnonzero(table[i] > 0):
                        if is_arrival or j != i:
                            next_phases.append(j)
                            rates.append(table[i, j])
                            arrives.append(is_arrival)
                begin.append(len(next_phases))
        self.arrival_begin, self.arrival_next = np.array(begin, np.int64), np.array(next_phases, np.int64)
        self.arrival_rate, self.arrival_comes = np.array(rates, float), np.array(arrives, np.int64)

    def start(self) -> Array:
        """Return the initial state of the search: closed customers where the first of random choices lead."""
        row = np.zeros((1, self.width), np.int32)
        populations = np.array([customers.population or 0 for customers in self.classes])
        begin: Any = kernel.begin
        status = begin(self.rules(), np.array(self.variables, np.int64), populations, row[0])
        if status:
            raise RefusedError("customers go round for ever without any time passing")
        return row

    def rules(self) -> kernel.Rules:
        """Return the tables in the form that the kernel takes."""
        phases = phase_arrays(self.times)
        return kernel.Rules(
            self.station, self.limit, self.klass, self.first, self.switch, *phases, self.speed, self.weight, self.node,
            self.target_node, self.target_class, self.target_chance, self.fork_begin, self.fork_station, self.cache,
            self.item_chance, self.arrival, self.arrival_begin, self.arrival_next, self.arrival_rate,
            self.arrival_comes, self.size, self.thinks,
        )  # fmt: skip


def _tag(record: AnyTime | AnyArrivals) -> str:
    fields = msgspec.to_builtins(record)
    return str(fields.get("distribution") or fields["process"])
