"""A new model compiles nothing: over many random networks and machines numba compiles each kernel once at most."""

from contextlib import contextmanager

import numba
import numpy as np
from numba.core import event
from reference.network_truths import EXAMPLES, FEATURES, all_networks
from reference.small_machines import Exponential, machine, packets

from npexplore.machine.resources import FifoServer
from npexplore.networks.solve import METHODS, solve_network
from npexplore.solve.queueing import approximate_mva, mixed_network, mva
from npexplore.solve.queueing_model import queueing
from npexplore.solve.simulate import simulate


@contextmanager
def compilations():
    """A list that fills with what numba compiles meanwhile."""
    found = []
    with event.install_recorder("numba:compile") as recorder:
        yield found
    found += [entry.data["dispatcher"] for _, entry in recorder.buffer if entry.is_start]


def random_machine(rng):
    """One to three servers, some of them exponential, one to twelve threads."""
    names = [f"server{k}" for k in range(rng.integers(1, 4))]
    kinds = [Exponential if rng.random() < 0.5 else FifoServer for _ in names]
    resources = [kind(name, rng.uniform(5e-9, 90e-9)) for kind, name in zip(kinds, names, strict=True)]

    def program(m, packet):
        m.receive.free(bytes=64)
        for name in names:
            getattr(m, name).serve()

    return machine(resources, program, int(rng.integers(1, 13)))


def run_machine(rng):
    made, load = random_machine(rng), packets(*rng.integers(40, 65, 8).tolist())
    if rng.random() < 0.5:
        load = load.with_arrivals("poisson", 1e6)
    simulate(made, load, packets=200, seed=int(rng.integers(1000)))
    queueing(made, load)


def run_solvers(rng):
    K, R, P = rng.integers(1, 5, 3)
    demands = rng.uniform(0.1, 1, (P, K, R))
    mva(demands[:, :, 0], 5, 1.0, [[1, 2]] * K)
    mva(demands[:, :, 0], 5)
    mixed_network(demands, [0.1] + [0] * (R - 1), [0] + [3] * (R - 1), rates=[[1, 2]] * K)
    approximate_mva(demands, [3] * R, 1.0)


def test_the_count_sees_a_compilation():
    with compilations() as found:
        numba.njit(lambda x: x + 1)(1)
    assert len(found) == 1


def test_twenty_random_networks_and_machines():
    rng = np.random.default_rng(7)
    networks = list(all_networks().values())
    assert len(networks) == len(EXAMPLES) + len(FEATURES)
    with compilations() as found:
        for k in rng.choice(len(networks), 20, replace=False):
            solve_network(networks[k][0], METHODS, seeds=[1], customers=200, most_states=2000)
        for _ in range(20):
            run_machine(rng)
            run_solvers(rng)
    kernels = [dispatcher.kernel for dispatcher in found]  # where no cache is warm; anything else has no kernel
    names = [one.name for one in kernels if not one.is_part]
    assert len(names) == len(set(names))
