"""Machines that are a single resource with a more accurate solution than a network of stations.

A crossing whose routes change (lone_crossing.py), a token channel (queueing/token_bucket.py) or a lock whose hand-over
takes time (queueing/hand_over.py): closed, or with Poisson arrivals and an unlimited buffer. Banks drawn at random
(queueing/bank_chain.py): closed only.
"""

import numpy as np

from npexplore.errors import RefusedError
from npexplore.machine.machine import Machine
from npexplore.machine.program import Draw, Visit
from npexplore.machine.resources.banked import BankedMemory
from npexplore.machine.resources.channel import TokenChannel
from npexplore.machine.resources.lock import Lock
from npexplore.machine.resources.server import Delay
from npexplore.machine.resources.streams import StaticStreams
from npexplore.machine.tree import Body
from npexplore.rows.expressions import Constant, column
from npexplore.solve.batch import Batch
from npexplore.solve.levels import Levels
from npexplore.solve.lone_crossing import lone_crossing
from npexplore.solve.queueing.bank_chain import bank_rate
from npexplore.solve.queueing.hand_over import HandOver
from npexplore.solve.queueing.token_bucket import saved_tokens_wait
from npexplore.solve.stays import Found, Stay

MAX_BANK_STATES = 10_000  # of a Markov chain of banks, which takes about a second
SPARE_THREADS = 1.5  # threads per packet in the machine at which no packet waits for a thread


_Known = StaticStreams | TokenChannel | Lock | BankedMemory


def alone(batch: Batch) -> Found | None:
    """Return the solution of a machine that is one such resource, else None; raises RefusedError if unsolvable."""
    machine, workload = batch.like.machine, batch.like.workload
    if not may_be_alone(machine):
        return None
    columns = {name: column(name) for name in workload.columns}
    steps = machine.record(columns, machine.pools[0])
    body = [step for step in steps if not (isinstance(step, Visit) and step.resource is machine.ingress)]
    for solve in (_crossing, _lock, _channel, _banks):
        answer = solve(batch, body)
        if answer is not None:
            return answer
    return None


def may_be_alone(machine: Machine) -> bool:
    """Say whether a machine has one pool and a resource that stations describe incompletely."""
    resources = [resource for resource in machine.resources.values() if isinstance(resource, _Known)]
    return len(machine.pools) == 1 and any(map(_matters, resources))


def _matters(resource: _Known) -> bool:
    """Say whether a station would describe a resource incompletely."""
    if isinstance(resource, BankedMemory):
        return resource.precharge > 0 and not resource.refresh
    if isinstance(resource, StaticStreams):
        return bool(resource.change or resource.turns)
    return bool(resource.wake or resource.waiter) if isinstance(resource, Lock) else resource.clock is None


def _crossing(batch: Batch, body: Body) -> Found | None:
    crossing = lone_crossing(batch, body)
    if crossing is None:
        return None
    method = "messages over one crossing: paths in turn, or two groups of them that alternate"
    if batch.like.workload.arrivals == "saturated":
        return _closed(batch, crossing.closed(batch.like.machine.threads), method)
    return _open(batch, crossing.open(_offered(batch)), method)


def _lock(batch: Batch, body: Body) -> Found | None:
    visits = [step for step in body if isinstance(step, Visit)]
    if len(visits) != len(body) or len(visits) < 2 or not isinstance(visits[0].resource, Lock):
        return None
    lock, inside = visits[0].resource, visits[1:-1]
    cycles, seconds = lock.sleepers_cycles(), [step.operands.get("seconds") for step in inside]
    constant_waits = all(isinstance(step.resource, Delay) for step in inside) and all(
        isinstance(operand, Constant) for operand in seconds
    )
    if cycles is None or not constant_waits or visits[-1].resource is not lock or len(batch) > 1:
        return None
    held_s = sum(float(operand.value) for operand in seconds if isinstance(operand, Constant))
    acquire, release, wake, waiter = (number * lock.cycle for number in cycles)
    lock_model, method = HandOver(acquire, held_s, release, wake, waiter), "M/G/1 with hand-over"
    if batch.like.workload.arrivals == "saturated":
        return None if acquire > held_s else _closed(batch, lock_model.closed(batch.like.machine.threads), method)
    return _open(batch, lock_model.open(_offered(batch)), method)


def _channel(batch: Batch, body: Body) -> Found | None:
    visits = [step for step in body if isinstance(step, Visit)]
    if batch.like.workload.arrivals != "poisson" or len(visits) != 1 or len(batch) > 1:
        return None
    channel, tokens, member = visits[0].resource, visits[0].operands.get("tokens"), visits[0].operands.get("member")
    if not isinstance(channel, TokenChannel) or not all(isinstance(step, Visit | Draw) for step in body):
        return None
    drawn = any(isinstance(step, Draw) and step.variable is member for step in body)
    member_rate = _offered(batch) / (channel.members if drawn else 1)
    one_token = tokens is None or (isinstance(tokens, Constant) and tokens.value == 1)
    is_known = drawn or member is None or isinstance(member, Constant)
    if member_rate >= channel.rate or not (is_known and one_token) or channel.clock is not None:
        return None
    return _open(batch, saved_tokens_wait(member_rate, 1 / channel.rate, channel.depth), "M/D/1 with saved tokens")


def _banks(batch: Batch, body: Body) -> Found | None:
    visits = [step for step in body if isinstance(step, Visit)]
    if batch.like.workload.arrivals != "saturated" or len(visits) != 1 or len(batch) > 1:
        return None
    memory = visits[0].resource
    draws = [step for step in body if step is not visits[0]]
    if not isinstance(memory, BankedMemory) or len(draws) != 1 or not isinstance(draws[0], Draw):
        return None
    drawn, below = draws[0].variable is visits[0].operands["bank"], draws[0].below
    if not drawn or not isinstance(below, Constant) or below.value != memory.banks:
        return None
    if np.any(batch.scv[memory.name] > 0):
        return None
    service = float(batch.seconds[memory.name][0])
    try:
        rate = bank_rate(batch.like.machine.threads, memory.banks, service, memory.precharge, memory.latency,
                         MAX_BANK_STATES)  # fmt: skip
    except RefusedError:
        return None  # too many states: banks as stations
    return _closed(batch, rate, "exact chain of bank interference")


def _offered(batch: Batch) -> float:
    if batch.like.workload.arrivals != "poisson" or batch.like.machine.ingress.limited:
        raise RefusedError("queueing: a resource alone is solved for Poisson arrivals and an unlimited receive buffer")
    return float(batch.offered[0])


def _closed(batch: Batch, rate: float, method: str) -> Found:
    return _answer(batch, rate, batch.like.machine.threads / rate, method)


def _open(batch: Batch, seconds: float, method: str) -> Found:
    threads, offered = batch.like.machine.threads, _offered(batch)
    if threads < SPARE_THREADS * offered * seconds:
        raise RefusedError(f"queueing: {threads} threads are too few: packets wait for a free thread")
    return _answer(batch, offered, seconds, method)


def _answer(batch: Batch, rate: float, seconds: float, method: str) -> Found:
    levels = Levels(batch, batch.like.machine.threads, batch.like.machine.pools[0].home, method=method)
    stay = Stay("threads", levels, np.array([seconds]))
    return Found(np.array([rate]), stay.seconds, np.zeros(1), [levels], stays=[stay])
