"""Mesh and router against closed forms: channel loads, M/D/1, head-of-line limit, saturation, latency at no load."""

import numpy as np
import pytest

from npexplore.machine.machine import Machine, Pool, Start
from npexplore.machine.resources import Delay, FifoServer, Mesh
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.workload import Workload
from npexplore.solve.bounds import bounds
from npexplore.solve.link_loads import link_loads
from npexplore.solve.queueing import crossbar_limit, md1
from npexplore.solve.queueing_model import queueing
from npexplore.solve.simulate import simulate

CLOCK, CYCLE = 1e9, 1e-9
ANY = Workload("any", {"packet_bytes": np.array([64])})


def closed(program, resources, threads, start=None):
    pool = Pool("thread", threads, program, start=start or Start())
    return Machine("m", pool, Ingress("receive"), {r.name: r for r in resources})


def uniform(mesh, words, threads):
    """Every packet goes from a random tile to a random tile."""

    def program(m, packet):
        tiles = mesh.grid.tiles
        m.net.deliver(source=m.draw(tiles, "source"), target=m.draw(tiles, "target"), words=words)

    return closed(program, [mesh], threads)


@pytest.mark.parametrize("k", [2, 3, 4, 7, 8])
def test_uniform_traffic_loads_the_middle_links_most(k):
    """Of k x k tiles that send f flits a cycle each, the link from column x to x + 1 carries f (x+1)(k-1-x)/k.

    Both directions, and rows likewise: the link (k/2 - 1, k/2) carries k/4 of it, the bisection bound of even k.
    """
    made = uniform(Mesh("net", k, k, CLOCK, 4), 7, 64)
    roof = bounds(made, ANY)
    flits = roof.rate_pps * 8 * CYCLE / k**2  # a cycle and tile
    loads = {(link.source, link.target): link.load for link in link_loads(made.resources["net"], roof)}
    for (a, b), load in loads.items():
        if a is None or b is None:
            assert load == pytest.approx(flits)
        else:
            low = min(a % k, b % k) if a // k == b // k else min(a // k, b // k)
            assert load == pytest.approx(flits * (low + 1) * (k - 1 - low) / k)
    most = max(1.0, (k // 2) * (k - k // 2) / k)  # few tiles: entries and exits set the limit
    assert flits == pytest.approx(1 / most)
    named = roof.bottleneck.removeprefix("net.")
    assert named[:2] in ("in", "ou") if most == 1 else ">" in named


@pytest.mark.parametrize("words", [0, 7])
def test_simulated_links_carry_what_bounds_say(words):
    """Far below saturation: load of each link is rate x demand; it is held no longer than that when nobody waits."""
    made = uniform(Mesh("net", 4, 4, CLOCK, 4), words, 1)
    roof, seen = bounds(made, ANY), simulate(made, ANY, packets=20_000)
    per_packet = {link.name: link.load / roof.rate_pps for link in link_loads(made.resources["net"], roof)}
    for link in link_loads(made.resources["net"], seen):
        assert link.load == pytest.approx(per_packet[link.name] * seen.rate_pps, rel=0.12)
        assert link.held == pytest.approx(link.load, rel=1e-6)
    assert seen.latency_s.mean == pytest.approx(roof.latency_s.mean, rel=0.01)


@pytest.mark.parametrize("depth", [2, 4, 16])
def test_saturation_stays_below_the_roofline(depth):
    """Wormhole saturates far below its links' limit, sooner with short FIFOs; the roofline is never exceeded."""
    made = uniform(Mesh("net", 4, 4, CLOCK, depth), 7, 160)
    roof, seen = bounds(made, ANY), simulate(made, ANY, packets=20_000)
    assert 0.3 * roof.rate_pps < seen.rate_pps < roof.rate_pps
    answer = queueing(made, ANY)
    assert "messages stored and forwarded link by link, without back pressure" in answer.approximation
    assert answer.rate_pps <= roof.rate_pps * (1 + 1e-9)


def test_deeper_fifos_carry_more():
    rates = [
        simulate(uniform(Mesh("net", 4, 4, CLOCK, depth), 7, 160), ANY, packets=20_000).rate_pps for depth in (2, 4, 16)
    ]
    assert rates[0] < 0.95 * rates[1]
    assert rates[1] < 0.95 * rates[2]


SOURCES = {
    "one entry": (3, [0, 0], 1),
    "two tiles into one exit": (3, [0, 2], 1),
    "three tiles and itself": (5, [0, 1, 3, 4], 2),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_a_shared_link_is_md1(name, load):
    """Poisson messages of one length that share their last link wait as at one server with constant service.

    Whenever one waits anywhere, words flow into the shared link at its full rate: it works as long as there is work.
    """
    columns, sources, target = SOURCES[name]
    flits, mesh = 6, Mesh("net", columns, 1, CLOCK, 4)

    def program(m, packet):
        m.receive.free(bytes=64)
        m.net.deliver(source=packet.source, target=target, words=flits - 1)

    pool = Pool("thread", 150, program)
    made = Machine("m", pool, Ingress("receive", 1 << 20, 64), {"net": mesh})
    at = np.array(sources * 64)
    work = Workload("w", {"packet_bytes": np.full(len(at), 64), "source": at})
    answer = simulate(made, work.with_arrivals("poisson", load / (flits * CYCLE)), packets=400_000, seed=3)
    alone = float(np.mean([len(mesh.grid.route(s, target)) + flits - 1 for s in sources])) * CYCLE
    waited = float(md1(load / (flits * CYCLE), flits * CYCLE).mean_wait)
    low, high = answer.ci95["latency_s"]
    assert answer.latency_s.mean - alone == pytest.approx(waited, rel=0.03)
    assert high - low < 0.1 * answer.latency_s.mean


@pytest.mark.parametrize("ports", [2, 4, 8])
def test_head_of_line_limit_of_a_router(ports):
    """One tile with terminals that always send single flits to random exits is an input-queued crossbar."""
    mesh = Mesh("net", 1, 1, CLOCK, 8, ports=[0] * (ports - 1))

    def pool(source):
        def program(m, packet):
            m.net.send(source=source, target=m.draw(ports, f"target {source}"), words=0)

        return Pool(f"input{source}", 2, program)

    made = Machine("m", [pool(k) for k in range(ports)], Ingress("receive"), {"net": mesh})
    answer = simulate(made, ANY, packets=100_000)
    assert answer.rate_pps * CYCLE / ports == pytest.approx(crossbar_limit(ports), rel=0.01)


def test_head_of_line_limit_of_16_ports():
    """The same made of plain servers: an input is a thread that waits for its output. Karol, Hluchyj, Morgan 1987."""

    def program(m, packet):
        m.output.serve(member=m.draw(16, "output"))

    outputs = FifoServer("output", CYCLE, members=16)
    answer = simulate(closed(program, [outputs], 16, Start("simultaneous")), ANY, packets=100_000)
    assert answer.rate_pps * CYCLE / 16 == pytest.approx(crossbar_limit(16), rel=0.01)


@pytest.mark.parametrize("hop", [1, 3])
@pytest.mark.parametrize("depth", [4, 8])
def test_latency_at_no_load(hop, depth):
    """hop x (Manhattan distance + 2) + flits - 1 cycles, for every pair of tiles."""
    mesh = Mesh("net", 4, 3, CLOCK, depth, hop_cycles=hop)
    a, b = (grid.ravel() for grid in np.meshgrid(np.arange(12), np.arange(12)))
    far = abs(a % 4 - b % 4) + abs(a // 4 - b // 4)

    def program(m, packet):
        m.net.deliver(source=packet.a, target=packet.b, words=9)
        m.rest.wait(seconds=1e-6)

    work = Workload("pairs", {"packet_bytes": np.full(144, 64), "a": a, "b": b})
    made = closed(program, [mesh, Delay("rest")], 1)
    expected = float(np.mean(hop * (far + 2) + 10 - 1)) * CYCLE + 1e-6
    assert bounds(made, work).latency_s.mean == pytest.approx(expected, rel=1e-12)
    assert simulate(made, work, packets=144 * 16).latency_s.mean == pytest.approx(expected, rel=1e-9)
