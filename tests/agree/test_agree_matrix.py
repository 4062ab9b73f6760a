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


@pytest.mark.parametrize(
    ("kind", "ports", "seconds"),
    [({}, 4, 0.75 * 18), ({"arity": 2}, 4, 0.75 * 18 + 0.5 * 20), ({"arity": 4}, 6, 30 / 36 * 18 + 16 / 36 * 20)],
    ids=["crossbar", "full", "uneven"],
)
def test_a_drawn_port_counts_as_any(kind, ports, seconds):
    """By hand: a level takes 2 x 8 ns and the switches between, where both ends stand below different switches.

    Of six ports, four below the first switch, 1 - (16 + 4) / 36 of the pairs do so at the second level.
    """
    parts = [SwitchMatrix("net", ports, 1 * NS, 2 * NS, **kind), Exponential("work", 60 * NS, units=64)]

    def program(m, packet):
        m.work.serve()
        m.net.send(source=m.draw(ports, "from"), target=m.draw(ports, "to"), words=8)

    alone = machine(parts, program, threads=1)
    assert bounds(alone, LOAD).rate_pps == pytest.approx(1e9 / (60 + seconds))
    busy = machine(parts, program, threads=16)
    simulated = sum(simulate(busy, LOAD, seed=seed, packets=4000).rate_pps for seed in (1, 2)) / 2
    assert queueing(busy, LOAD).rate_pps == pytest.approx(simulated, rel=0.03)
    known = machine(parts, lambda m, p: (m.work.serve(), m.net.send(source=0, target=m.draw(ports, "to"), words=8)))
    size = kind.get("arity", ports)  # of the switch above port 0
    level = (1 - size / ports) * 20 if size < ports else 0.0
    assert bounds(known, LOAD).latency_s.mean == pytest.approx((60 + (1 - 1 / ports) * 18 + level) * NS)
