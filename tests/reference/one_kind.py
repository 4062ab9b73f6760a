"""Judge queueing by machines around one resource of a random kind: visits of it, and a delay, by one pool or by two.

    python tests/reference/one_kind.py judge [FIRST END] [KIND ..]    prints how near saturated rates are, by kind

Random machines of all kinds have each kind in a twentieth of them, and seldom where it binds; here each one is all that
binds. With two pools both visit the resource, and a queue joins them.
"""

import random
import sys
from functools import lru_cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.random_kinds import drawn
from reference.random_machines import KINDS, packets_of

from npexplore.designs import Design
from npexplore.errors import InputError, ModelError, RefusedError, SimulationError
from npexplore.machine.machine import Machine, Pool
from npexplore.machine.parameters import MachineFile, Parameters
from npexplore.machine.resources import BoundedQueue, Delay
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.under_load import under_load
from npexplore.rows.distributions import Deterministic, Exponential

THREADS = ((1, 1), (1, 1), (1, 2), (2, 2), (4, 4))  # of the two pools; one pool has their sum
PACKETS = 6000
LEAST_S = 5e-10  # of the slowest visit: simulation's clock ticks in picoseconds


def _design(part, pools, threads, delay):
    resources = {one.name: one for one in part.resources} | {"d": Delay("d", delay), "e": Delay("e", delay)}

    def only(m, packet):
        part.act(m)
        m.d.wait()
        m.receive.free(bytes=packet.packet_bytes)

    def before(m, packet):
        part.act(m)
        m.d.wait()
        m.q.put()

    def behind(m, packet):
        m.e.wait()
        part.act(m)
        m.receive.free(bytes=packet.packet_bytes)

    if pools == 1:
        built = [Pool("pool0", sum(threads), only, None, None)]
    else:
        resources["q"] = BoundedQueue("q", 4, when_full="stall")
        built = [Pool("pool0", threads[0], before, None, None), Pool("pool1", threads[1], behind, None, "q")]
    machine = Machine("one kind", built, Ingress("receive", 65536, 64), resources)
    return Design("one_kind", Parameters(MachineFile(name="one_kind", title="one kind")), lambda _: machine)


@lru_cache
def machine_around(kind, seed, pools=1):
    """Return the design of a seed, or None where the resource passes packets faster than a tick of simulation."""
    r = random.Random(f"{kind}{seed}")
    part, share, law, threads = (
        drawn(kind, r, "a"), r.choice([0.3, 1, 3]), r.choice([Exponential, Deterministic]), r.choice(THREADS),
    )  # fmt: skip
    ceilings = under_load(_design(part, pools, threads, law(mean=1e-7)).machine(), packets_of("64 bytes")).ceilings()
    most = min((pps for name, pps in ceilings.items() if not name.startswith("threads")), default=1e7)
    if most * LEAST_S > 1:
        return None
    return _design(part, pools, threads, law(mean=share * sum(threads) / 2 / most))


def error(kind, seed, pools=1):
    """Return queueing's relative error of the saturated rate; None where it refuses or there is no machine."""
    packets = packets_of("64 bytes")
    try:
        design = machine_around(kind, seed, pools)
        simulated = design and design.simulate(packets, packets=PACKETS, breakdown=False).rate_pps
        return None if design is None else design.queueing(packets).rate_pps / simulated - 1
    except (ModelError, InputError, RefusedError):
        return None
    except SimulationError as stopped:  # a machine that stands still is none; a broken law is a fault
        if stopped.kind == "law":
            raise
        return None


def judge(first=0, end=60, *kinds):
    """Print by kind and number of pools how many are answered, how many within a tenth, and the farthest."""
    for pools in (1, 2):
        for kind in kinds or [kind for kind in KINDS if kind != "policer"]:
            errors = [
                (one, seed) for seed in range(int(first), int(end)) if (one := error(kind, seed, pools)) is not None
            ]
            near = sum(abs(one) <= 0.1 for one, _ in errors)
            farthest = [f"{one:+.2f} ({seed})" for one, seed in sorted(errors, key=lambda pair: -abs(pair[0]))[:3]]
            print(
                f"{pools} {kind:16} answered {len(errors):3}, within a tenth {near:3}, farthest {', '.join(farthest)}"
            )


if __name__ == "__main__":
    command, *more = sys.argv[1:]
    {"judge": judge}[command](*more)
