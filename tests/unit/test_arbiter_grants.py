"""A request for several grants keeps an arbiter for as many intervals, and bounds count them."""

import pytest

from npexplore.machine.machine import Machine, Pool
from npexplore.machine.resources import Arbiter
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.workload_sources import workload
from npexplore.solve.bounds import bounds
from npexplore.solve.simulate import simulate

LOAD = workload(packet_bytes=64)


@pytest.mark.parametrize("grants", [1, 3])
@pytest.mark.parametrize("discipline", ["fair", "fixed", "first_come"])
def test_rate_is_one_over_the_grants(grants, discipline):
    def program(m, packet):
        m.channel.request(requester=m.turn(8, "who"), grants=grants)

    made = Machine(
        "m", Pool("t", 8, program), Ingress("receive"),
        {"channel": Arbiter("channel", 8, 10e-9, discipline=discipline, groups=2, within="fair")},
    )  # fmt: skip
    assert bounds(made, LOAD).rate_pps == pytest.approx(1e8 / grants)
    assert simulate(made, LOAD, packets=4000).rate_pps == pytest.approx(1e8 / grants, rel=2e-3)
