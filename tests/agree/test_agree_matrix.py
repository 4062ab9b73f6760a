"""A switch matrix by queueing theory and by simulation: crossbar, full and thin fat tree, even and skewed traffic."""

import pytest
from reference.small_machines import NS, Exponential, machine, packets

from npexplore.machine.resources import SwitchMatrix
from npexplore.solve.bounds import bounds
from npexplore.solve.queueing_model import queueing
from npexplore.solve.simulate import simulate

LOAD = packets(64)


@pytest.mark.parametrize("kind", [{}, {"arity": 2}, {"arity": 2, "thinning": 2}], ids=["crossbar", "full", "thin"])
@pytest.mark.parametrize("threads", [2, 6, 16])
def test_mean_value_and_simulation_agree(kind, threads):
    """Each of four ports sends to the three others; taken as exponential, links of constant time make wait too long."""
    parts = [SwitchMatrix("net", 4, 1 * NS, 2 * NS, **kind), Exponential("work", 60 * NS, units=64)]

    def program(m, packet):
        for source in range(4):
            for target in range(4):
                if source != target:
                    m.work.serve()
                    m.net.send(source=source, target=target, words=8)

    made = machine(parts, program, threads=threads)
    simulated = [simulate(made, LOAD, seed=seed, packets=2000).rate_pps for seed in (1, 2)]
    assert simulated[0] == pytest.approx(simulated[1], rel=0.02)
    ratio = queueing(made, LOAD).rate_pps / (sum(simulated) / 2)
    assert (0.97 if threads == 2 else 0.9) < ratio < 1.01
    assert max(simulated) <= 1.01 * bounds(made, LOAD).rate_pps
