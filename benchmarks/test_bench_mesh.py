"""Messages a second over a 4 x 4 mesh: the engine's worms against the same scheme of reservations and bursts in SimPy.

Uniform random traffic, 64 threads that send a message and wait until its tail has arrived; FIFOs of 4 flits. Ours is
the public `simulate` with all its statistics, SimPy runs bare. Set NPEXPLORE_BENCH_MESSAGES for other than 100,000.
"""

import os

import numpy as np
import pytest
import simpy
from reference.timing import best

from npexplore.machine.machine import Machine, Pool
from npexplore.machine.resources import Mesh
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.workload import Workload
from npexplore.solve.simulate import simulate

MESSAGES = int(os.environ.get("NPEXPLORE_BENCH_MESSAGES", "100_000"))
FEWER = 40  # SimPy is given so many times fewer
SIDE, DEPTH, THREADS = 4, 4, 64
LOAD = Workload("any", {"packet_bytes": np.array([64])})


def ours(flits):
    def program(m, packet):
        m.net.deliver(source=m.draw(SIDE**2, "source"), target=m.draw(SIDE**2, "target"), words=flits - 1)

    mesh = Mesh("net", SIDE, SIDE, 1e9, DEPTH)
    return Machine("mesh", Pool("thread", THREADS, program), Ingress("receive"), {"net": mesh})


class Fifo:
    """A FIFO behind a link: who is first, its flits, its places."""

    def __init__(self, env):
        self.first = simpy.Resource(env)
        self.items = simpy.Container(env, init=0)
        self.space = simpy.Container(env, init=DEPTH)


def peer(flits, messages):
    """Messages a nanosecond of the SimPy model."""
    env, rng = simpy.Environment(), np.random.default_rng(1)
    links, fifos, done, enough = {}, {}, [0], env.event()
    ends = rng.integers(0, SIDE**2, (messages + THREADS, 2)).tolist()

    def link(a, b):
        return links.setdefault((a, b), simpy.Resource(env))

    def fifo(a, b):
        if (a, b) not in fifos:
            fifos[a, b] = Fifo(env)
        return fifos[a, b]

    def route(source, target):
        path, here = [("in", source)], source
        while here != target:
            if here % SIDE != target % SIDE:
                there = here + (1 if here % SIDE < target % SIDE else -1)
            else:
                there = here + (SIDE if here < target else -SIDE)
            path.append((here, there))
            here = there
        return [*path, (here, "out")]

    def move(path, k, arrived):
        """Move the flits of a message over the k-th link of its route, burst by burst."""
        behind = fifo(*path[k - 1]) if k else None
        ahead = fifo(*path[k]) if k + 1 < len(path) else None
        needs = [s for s in (behind and behind.items, ahead and ahead.space) if s is not None]
        left, first = flits, True
        while left:
            for semaphore in needs:
                yield semaphore.get(1)
            burst = min(left, *(1 + semaphore.level for semaphore in needs))
            if burst > 1:
                for semaphore in needs:
                    yield semaphore.get(burst - 1)
            yield env.timeout(1)
            if behind:
                behind.space.put(burst)
            if ahead:
                ahead.items.put(burst)
                if first:
                    env.process(hop(path, k + 1, arrived))
            first = False
            if burst > 1:
                yield env.timeout(burst - 1)
            left -= burst

    def hop(path, k, arrived):
        here = fifo(*path[k - 1])
        turn = here.first.request()
        yield turn
        way = link(*path[k]).request()
        yield way
        yield from move(path, k, arrived)
        link(*path[k]).release(way)
        here.first.release(turn)
        if k + 1 == len(path):
            arrived.succeed()

    def thread():
        while True:
            path, arrived = route(*ends.pop()), env.event()
            entry = link(*path[0])
            turn = entry.request()
            yield turn
            yield from move(path, 0, arrived)
            entry.release(turn)
            yield arrived
            done[0] += 1
            if done[0] == messages:
                enough.succeed()

    for _ in range(THREADS):
        env.process(thread())
    env.run(enough)
    return messages / env.now


@pytest.mark.parametrize("flits", [2, 8, 32])
def test_messages_over_a_mesh(benchmark, flits):
    made = ours(flits)
    simulate(made, LOAD, packets=1000)  # warm

    def run():
        seconds, answer = best(lambda: simulate(made, LOAD, packets=MESSAGES))
        bare, rate = best(lambda: peer(flits, MESSAGES // FEWER), rounds=2)
        each = seconds / (MESSAGES * 18 / 16)  # the warm-up is simulated as well
        numbers = {
            "thousand_messages_per_s": 1e-3 / each, "times_simpy": bare / (MESSAGES // FEWER) / each,
            "events_per_message": answer.about["events"] / (MESSAGES * 18 / 16),
        }  # fmt: skip
        benchmark.extra_info.update(numbers)
        print(", ".join(f"{name} {number:.4g}" for name, number in numbers.items()))
        return answer, rate

    answer, rate = benchmark.pedantic(run, rounds=1, iterations=1)
    assert answer.rate_pps == pytest.approx(rate * 1e9, rel=0.05)
