"""Solve a small machine by its Markov chain, whose states are found breadth first from the machine's description.

A state holds the phase of each token's time, the waiting tokens of each line, and the contents of the receive buffer
and queues. Times must be exponential or phase-type; a constant time is replaced by an Erlang time with a given number
of phases. The answer is exact for such times, every mean with a certified error (solve/chains); tests compare queueing
and simulation with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npexplore.errors import RefusedError
from npexplore.machine.machine import Machine, Recorded
from npexplore.machine.pools import guests
from npexplore.machine.program import HOME
from npexplore.machine.workload import Workload
from npexplore.records import by_content
from npexplore.rows.base import Label
from npexplore.rows.distributions import Batch, Deterministic, Distribution, Exponential, OnOff
from npexplore.rows.expressions import Variable
from npexplore.solve.chains import Chain, explore, stationary
from npexplore.solve.chains.chain import Array
from npexplore.solve.chains.stationary import Stationary
from npexplore.solve.machine_chain.operations import ChainEmitter, Operations
from npexplore.solve.machine_chain.tokens import (
    BYTES,
    DONE,
    LOST,
    OFFERED,
    OVER,
    Instant,
    Message,
    Source,
    State,
    Tokens,
)
from npexplore.solve.prediction import Latency, Prediction, Queue, Utilization, bottleneck
from npexplore.solve.queueing.inputs import Floats

MOST_STATES = 100_000
STATE_BYTES, AT_ONCE = 2500, 1024  # memory of Python objects per state; states that are expanded together
INSIDE, FIRST = 4, 5  # columns of rewards: packets inside, then busy units and lines of each member


@by_content
@dataclass(frozen=True)
class MachineChain:
    """A machine's states, their chain, and the reward rates of each state."""

    tokens: Tokens
    states: list[State]
    chain: Chain
    rewards: Floats  # (states, 5 + 2 members): done, bytes, lost, offered per s; inside; busy units, lines


def machine_chain(
    machine: Machine, workload: Workload, phases: int | None = None, most_states: int = MOST_STATES,
    most_bytes: int | None = None,
) -> MachineChain:  # fmt: skip
    """Return the Markov chain of a machine under a workload, from the records that all solvers read.

    Args:
        machine: a small machine, since the number of states grows fast.
        workload: its packets; kinds are drawn at random by their shares.
        phases: of the Erlang time that replaces a constant time (1: exponential; None: constant times are refused).
        most_states: the largest number of states.
        most_bytes: the largest memory to use, in bytes (None: half of the available memory).

    Raises RefusedError for a part of the machine that has no states, and for more states or memory than allowed, before
    they are used.
    """
    tokens, start = _compiled(machine, workload, phases)
    number: dict[State, int] = {}
    states: list[State] = []
    gains: list[list[float]] = []

    def enter(instant: Instant) -> int:
        index = number.setdefault(state := instant.state(), len(states))
        if index == len(states):
            states.append(state)
        return index

    def successors(rows: Array) -> tuple[Array, Array, Floats]:
        origin, following, rate = list[int](), list[int](), list[float]()
        for row, index in enumerate(rows[:, 0].tolist()):
            state_gains = [0.0] * 4
            for arc_rate, instant in _arcs(tokens, states[index]):
                origin.append(row)
                following.append(enter(instant))
                rate.append(arc_rate)
                for column, gain in enumerate(instant.gains):
                    state_gains[column] += arc_rate * gain
            if row not in origin[-1:]:
                raise tokens.code.refuse(f"stuck for ever in state {index}: no time passes")
            gains.append(state_gains)
        return np.array(origin), np.array(following)[:, None], np.array(rate)

    first = np.array([enter(instant) for instant in tokens.settle(start)])[:, None]
    _, arcs = explore(
        first, successors, most_states, most_bytes, at_once=AT_ONCE, state_bytes=STATE_BYTES,
        name=f"chain: {machine.name}",
    )  # fmt: skip
    rewards = np.hstack([np.array(gains), _levels(tokens, machine, states)])
    return MachineChain(tokens, states, arcs, rewards)


def ctmc(
    machine: Machine, workload: Workload, phases: int | None = None, most_states: int = MOST_STATES,
    most_bytes: int | None = None, tolerance: float = 1e-9,
) -> Prediction:  # fmt: skip
    """Return a machine's prediction from its Markov chain; raises the errors of `machine_chain`.

    machine, workload, phases, most_states, most_bytes: as in `machine_chain`. tolerance: the largest relative width of
    a mean's bracket.

    `about` has the number of states, and the certified relative error of every mean.
    """
    model = machine_chain(machine, workload, phases, most_states, most_bytes)
    answer = stationary(model.chain, model.rewards, tolerance)
    return _prediction(machine, workload, model, answer, phases)


def _compiled(machine: Machine, workload: Workload, phases: int | None) -> tuple[Tokens, Instant]:
    """Return the tokens' programs, and the instant at which all threads start."""
    open_load = workload.arrivals != "saturated"
    machine.ingress.arrivals = workload.arrivals
    code = Operations(machine.tick, machine=machine.name)
    for server in machine.servers().values():
        code.declare(server)
    distinct, shares = workload.distinct()
    kinds: list[tuple[float, Message]] = [
        (float(share), tuple(sorted((name, float(values[k])) for name, values in distinct.items())))
        for k, share in enumerate(shares)
    ]
    starts: list[tuple[Recorded, int]] = []
    columns: list[dict[str, int]] = []
    for number, recorded in enumerate(machine.record_pools(workload.columns)):
        starts.append((recorded, len(code.operations)))
        columns.append(_program(code, machine, recorded, number))
    ingress, queues = machine.ingress, machine.queues()
    rings = [ingress.name, *queues]
    sources = []
    for recorded, _ in starts:
        gets = recorded.pool.gets
        if gets is not None:
            queue = queues[gets]
            if queue.members > 1 or queue.credit:
                raise code.refuse(f"queue {gets!r} has several members, or credits that take time")
            room = code.number(f"{gets}.room"), queue.unit == "bytes"
            sources.append(Source(code.number(queue.packets), rings.index(gets), room))
        elif open_load:
            sources.append(Source(code.number(ingress.packets), 0))
        else:
            sources.append(Source(None))
    arrival = None
    if open_load:
        arrival = _arrivals(code, workload, code.number(f"{ingress.name}.buffer"), code.number(ingress.packets))
    tokens = Tokens(code, kinds, sources, rings, columns, ingress.cell_bytes, phases)
    start = Instant([], list(tokens.units), [[] for _ in tokens.units], [[] for _ in rings], [0] * len(code.globals))
    home = code.name(HOME)
    for recorded, at in starts:
        pool = recorded.pool
        if pool.idle == "poll" and (open_load or pool.gets is not None):
            raise code.refuse(f"idle threads of pool {pool.name!r} poll")
        members = 1 if pool.home is None else code.servers[pool.home][0].members
        for k in range(pool.count):
            start.ready.append((at, {home: float(k % members)}, ""))
    if arrival is not None:
        start.ready.append((arrival, {}, ""))
    return tokens, start


def _program(code: Operations, machine: Machine, recorded: Recorded, number: int) -> dict[str, int]:
    """Append the endless program of a pool's threads; returns the numbers of its packets' columns."""
    columns: dict[str, Variable] = dict(recorded.columns)
    for name in guests(recorded.pool, recorded.body):
        if code.servers[name][0].members > 1:
            raise code.refuse(f"threads of pool {recorded.pool.name!r} compute on {name!r}, which is not their home")
    code.homes.clear()
    if recorded.pool.home is not None:
        code.homes[recorded.pool.home] = HOME
    code.columns = list(columns.values())
    begin, length = Label(), code.value_at(columns["packet_bytes"])
    code.place(begin)
    code.append("get", number)
    ChainEmitter(code).body(recorded.body)
    code.append("done", lambda numbers: float(machine.counted_bytes(length(numbers))))
    code.jump(begin)
    return {name: code.name(variable) for name, variable in columns.items()}


def _arrivals(code: Operations, workload: Workload, buffer: int, packets: int) -> int:
    """Append the program of the packet source; returns its place."""
    process, size = workload.process(), 1
    if process is None:
        raise code.refuse("arrivals by time stamps are not a random process")
    interval: Distribution = Exponential(mean=1 / process.rate)
    if isinstance(process, Batch):
        if process.sizes != "fixed":
            raise code.refuse("batches of geometric size have no end of sizes")
        size = process.size
        interval = Exponential(mean=size / process.rate)
    elif isinstance(process, OnOff):
        interval = process.interval()
    elif workload.arrivals == "periodic":
        interval = Deterministic(mean=1 / process.rate)
    seconds, at, loop = interval.moments()[0], len(code.operations), Label()
    code.place(loop)
    code.append("wait", (lambda numbers: seconds) if isinstance(interval, Deterministic) else interval)
    for _ in range(size):
        code.append("arrive", buffer, packets, 0)
    code.jump(loop)
    return at


def _arcs(tokens: Tokens, state: State) -> list[tuple[float, Instant]]:
    """Return the rate and outcome of every event that can happen next in a state."""
    free, code = state[1], tokens.code
    arcs: list[tuple[float, Instant]] = []
    token_counts: dict[tuple[int, int], int] = {}
    for token in state[0]:
        token_counts[token] = token_counts.get(token, 0) + 1
    for (place, phase), count in token_counts.items():
        at, names = tokens.places[place]
        row, numbers, factor = code.operations[at], dict(names), float(count)
        time_phases, r = tokens.phases(row, numbers), tokens.server_of(row, numbers)
        assert time_phases is not None
        if r is not None and tokens.shared[r]:
            factor *= min(tokens.units[r] / (tokens.units[r] - free[r]), 1.0)
        rates = time_phases.rates[phase]
        for following, rate in enumerate(rates):
            if following != phase and rate > 0:
                now = Instant.after(state, (place, phase))
                now.timed.append((place, following))
                arcs.append((factor * float(rate), now))
        ends = -float(rates.sum())
        if ends > 1e-12 * -float(rates[phase]):
            now = Instant.after(state, (place, phase))
            now.ready.append((at, numbers, OVER))
            arcs += [(factor * ends * outcome.chance, outcome) for outcome in tokens.settle(now)]
    return arcs


def _levels(tokens: Tokens, machine: Machine, states: list[State]) -> Floats:
    """Return for each state the packets inside, and the busy units and the line length of each member."""
    units = np.array(tokens.units)
    free = np.array([state[1] for state in states])
    lines = np.array([[len(line) for line in state[2]] for state in states])
    rings = np.array([[len(ring) for ring in state[3]] for state in states]).sum(axis=1)
    shared = np.array(tokens.shared)
    waiting = lines + np.where(shared, np.maximum(-free, 0), 0)
    idle = sum(lines[:, s.packets] for s in set(tokens.sources) if s.packets is not None)
    inside = machine.threads - idle + rings
    return np.hstack([inside[:, None], np.clip(units - free, 0, units), waiting]).astype(np.float64)


def _prediction(
    machine: Machine, workload: Workload, model: MachineChain, answer: Stationary, phases: int | None
) -> Prediction:
    tokens, mean, servers = model.tokens, answer.mean, machine.servers()
    n = len(tokens.units)
    rate = float(mean[DONE])
    if not rate > 0:
        raise RefusedError(f"chain: {machine.name} finishes no packet")
    utilization, busiest, queue = {}, {}, {}
    for name, server in servers.items():
        span = slice(tokens.first[name], tokens.first[name] + server.members)
        queue[name] = Queue(float(mean[FIRST + n :][span].sum()), int(model.rewards[:, FIRST + n :][:, span].max()))
        if server.units and server.role != "hidden":
            shares = mean[FIRST : FIRST + n][span] / server.units
            utilization[name], busiest[name] = Utilization(float(shares.mean())), float(shares.max())
    error = float((answer.error / np.maximum(np.abs(mean), 1e-3 * np.abs(model.rewards).max(axis=0) + 1e-300)).max())
    kinds = len(tokens.kinds)
    assumptions = []
    if tokens.constants:
        assumptions.append(
            f"constant times as Erlang times of {phases} phases" if phases != 1 else "constant times as exponential"
        )
    assumptions += [f"without {feature}" for feature in sorted(tokens.code.left_out)]
    if kinds > 1:
        assumptions.append(f"{kinds} kinds of packets drawn by chance")
    if error > 1e-6:
        assumptions.append(f"certified within {error:.1g}")
    offered = float(mean[OFFERED])
    mixed = any(row[0] == "lost" for row in tokens.code.operations)  # then Little's law would include lost packets
    return Prediction(
        solver="ctmc",
        throughput_bps=8.0 * float(mean[BYTES]),
        rate_pps=rate,
        counted=machine.counted,
        bottleneck=bottleneck(servers, busiest),
        utilization=utilization,
        latency_s=Latency(None if mixed else float(mean[INSIDE]) / rate),
        queue=queue,
        offered_pps=workload.rate_pps,
        loss=float(mean[LOST]) / offered if offered else None,
        exact=not assumptions,
        approximation="Markov chain: " + ", ".join(assumptions) if assumptions else None,
        about={"states": len(model.states), "error": error},
    )  # fmt: skip
