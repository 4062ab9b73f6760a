"""The generator of random machines: reproducible by its seed, and none of its parts is forgotten."""

import numpy as np
from reference import random_machines
from reference.random_kinds import BY_HAND
from reference.random_machines import MIXES, random_machine

from npexplore.engine.model import build

SEEDS = range(60)
STRUCTURES = {"branch", "loop", "hold", "fork", "parallel", "lock", "buffers", "ordered", "taken"}
POOLS = {"1 pool", "2 pools", "3 pools", "4 pools"}
QUEUES = {"queue stall", "queue credits", "queue drop", "scheduled_queue"}


def test_a_seed_always_gives_the_same_machine():
    for seed in range(3):
        models = []
        for _ in range(2):
            drawn = random_machine(seed)
            models.append(build(drawn.design.machine(), drawn.workload()))
        assert np.array_equal(models[0].rows, models[1].rows)
        assert models[0].sources == models[1].sources


def test_every_kind_structure_and_mix_is_drawn_and_few_machines_are_drawn_anew():
    random_machines.redraws.clear()
    machines = [random_machine(seed) for seed in SEEDS]
    features = set().union(*(one.features for one in machines))
    assert features >= STRUCTURES | POOLS | QUEUES | {"constant", "exponential"}
    assert features >= set(BY_HAND) - {"queue", "server", "processor"}
    assert {one.mix for one in machines} == set(MIXES)
    threads = {pool.count for one in machines for pool in one.design.machine().pools}
    assert min(threads) == 1
    assert max(threads) > 32
    assert len(random_machines.redraws) <= 3
