"""Rules of the switch matrix: ways through a crossbar and through fat trees, trunks, hot ports, errors."""

import pytest
from reference.small_machines import NS, machine, packets

from npexplore.errors import ModelError, SimulationError
from npexplore.machine.resources import Delay, SwitchMatrix
from npexplore.solve.bounds import bounds
from npexplore.solve.simulate import simulate

LOAD = packets(64)


def trunks(**kind):
    """Servers of a matrix: (members, units) by name."""
    return {server.name: (server.members, server.units) for server in SwitchMatrix("net", **kind).servers()}


def sent(matrix, ways, threads, words=10):
    """Rate of a machine whose packets send one message over each of some ways, by simulation and by bounds."""

    def program(m, packet):
        for source, target in ways:
            m.net.send(source=source, target=target, words=words)
        m.rest.wait(seconds=1 * NS)

    made = machine([matrix, Delay("rest")], program, threads=threads)
    return simulate(made, LOAD, packets=3000).rate_pps, bounds(made, LOAD).rate_pps


def test_a_crossbar_is_one_switch():
    assert trunks(ports=4, word_s=1 * NS) == {"net.up0": (4, 1), "net.down0": (4, 1)}


def test_a_full_tree_has_as_many_links_at_every_level():
    found = trunks(ports=8, word_s=1 * NS, arity=2)
    assert found == {f"net.{way}{level}": (8 >> level, 1 << level) for way in ("up", "down") for level in range(3)}


def test_a_thin_tree_has_fewer_links_at_its_top():
    found = trunks(ports=16, word_s=1 * NS, arity=4, thinning=2)
    assert (found["net.up0"], found["net.up1"]) == ((16, 1), (4, 2))
    assert trunks(ports=8, word_s=1 * NS, arity=2, thinning=2)["net.down2"] == (2, 1)


def test_switches_that_are_not_full_count_their_ports():
    assert trunks(ports=5, word_s=1 * NS, arity=2)["net.up1"] == (3, 2)


@pytest.mark.parametrize(
    ("kind", "ways", "links"),
    [
        ({}, [(0, 3), (1, 3), (2, 3)], 3),  # all to one port of a crossbar
        ({}, [(0, 3), (1, 2), (2, 1), (3, 0)], 1),  # each to another: nobody is in the way
        ({"arity": 2}, [(0, 2), (1, 3)], 1),  # a full tree has a link upwards for both
        ({"arity": 2, "thinning": 2}, [(0, 2), (1, 3)], 2),  # a thin one has one link for both
        ({"arity": 2, "thinning": 2}, [(0, 1), (2, 3)], 1),  # which neighbours do not need
    ],
)
def test_the_fullest_link_sets_the_pace(kind, ways, links):
    """24 threads keep it full: a message of ten words of a nanosecond each, so many times a packet."""
    simulated, most = sent(SwitchMatrix("net", 4, 1 * NS, **kind), ways, threads=24)
    assert most == pytest.approx(1e8 / links)
    assert simulated == pytest.approx(most, rel=0.02)


def test_errors_name_what_cannot_be():
    with pytest.raises(ModelError, match="net: ports must be an integer of at least 2, got 1"):
        SwitchMatrix("net", 1, 1 * NS)
    with pytest.raises(ModelError, match="net: arity must be an integer of at least 2, got 1"):
        SwitchMatrix("net", 4, 1 * NS, arity=1)
    with pytest.raises(ModelError, match="net: thinning must be at most the arity of 2, got 3"):
        SwitchMatrix("net", 4, 1 * NS, arity=2, thinning=3)
    with pytest.raises(ModelError, match=r"net has ports 0\.\.3, got 4"):
        bounds(machine([SwitchMatrix("net", 4, 1 * NS)], lambda m, p: m.net.send(source=0, target=4, words=1)), LOAD)


def test_a_port_that_is_not_there_ends_the_run():
    def program(m, packet):
        m.net.send(source=0, target=m.draw(5, "target"), words=1)

    with pytest.raises(SimulationError):
        simulate(machine([SwitchMatrix("net", 4, 1 * NS)], program), LOAD, packets=1000)
