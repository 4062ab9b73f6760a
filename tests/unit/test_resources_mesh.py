"""Rules of the mesh and of static streams: routes, refusals in one line, deadlock with its circle, loads of links."""

import numpy as np
import pytest
from reference.small_machines import NS, QUIET, machine, packets, solo

from npexplore.engine.model import build
from npexplore.engine.waiting import resource_names
from npexplore.errors import InputError, ModelError, SimulationError
from npexplore.machine.described.defaults import choices
from npexplore.machine.resources import Delay, FifoServer, Mesh, StaticStreams
from npexplore.machine.resources.flits import cycles_for
from npexplore.machine.resources.grid import Grid
from npexplore.solve.bounds import bounds
from npexplore.solve.link_loads import LinkLoad, link_loads
from npexplore.solve.simulate import simulate


def net(**more):
    return Mesh("net", **{"columns": 3, "rows": 2, "clock_hz": 1e9, "fifo_depth": 4, **more})


def names(mesh, source, target):
    return [mesh.links()[k].name for k in mesh.grid.route(source, target)]


def test_routes_go_along_the_row_first():
    mesh = net(ports=[5, 5])
    assert names(mesh, 0, 5) == ["net.in0", "net.0>1", "net.1>2", "net.2>5", "net.out5"]
    assert names(mesh, 5, 0) == ["net.in5", "net.5>4", "net.4>3", "net.3>0", "net.out0"]
    assert names(mesh, 1, 1) == ["net.in1", "net.out1"]
    assert names(mesh, 0, 7) == ["net.in0", "net.0>1", "net.1>2", "net.2>5", "net.out7"]
    assert names(mesh, 6, 7) == ["net.in6", "net.out7"]


@pytest.mark.parametrize("method", ["send", "deliver"])
@pytest.mark.parametrize("source", [np.array([5.0, 0.0, 3.0, 5.0]), None])
def test_packets_side_by_side_use_what_each_uses_alone(method, source):
    mesh, target, words = net(), np.array([0.0, 5.0, 3.0, 1.0]), np.array([4.0, 9.0, 1.0, 2.0])
    many = mesh.uses(method, {"source": source, "target": target, "words": words})
    latency = np.broadcast_to(many.latency, 4)
    for k in range(4):
        alone = {"source": None if source is None else source[k], "target": target[k], "words": words[k]}
        one = mesh.uses(method, alone)
        assert latency[k] == one.latency
        used = {hold.server: (hold.seconds[k], hold.visits[k]) for hold in many.holds if hold.visits[k]}
        assert used == {hold.server: (hold.seconds, hold.visits) for hold in one.holds}


def test_a_way_that_no_packet_takes_crosses_no_link():
    """A branch for lengths that a capture does not have is walked with no packets at all."""
    crossed, hops = net()._crossings(np.float64(1), np.array([], dtype=float))
    assert (crossed, hops.shape) == ({}, (0,))


@pytest.mark.parametrize("size", [(1, 1), (4, 4), (2, 5), (6, 1)])
def test_every_route_ends_and_is_as_long_as_the_distance(size):
    grid = Grid("net", *size)
    for a in range(grid.tiles):
        for b in range(grid.tiles):
            far = abs(a % size[0] - b % size[0]) + abs(a // size[0] - b // size[0])
            assert len(grid.route(a, b)) == far + 2
    assert len(grid.links) == len(grid.between) + 2 * grid.tiles
    assert len(grid.between) == 2 * (size[1] * (size[0] - 1) + size[0] * (size[1] - 1))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: net(columns=0), "net: columns must be an integer of at least 1, got 0"),
        (lambda: net(clock_hz=0.0), "net: clock must be a finite rate above 0 per second, got 0.0"),
        (lambda: net(fifo_depth=0), "net: fifo_depth must be an integer of at least 1, got 0"),
        (lambda: net(hop_cycles=0), "net: hop_cycles must be an integer of at least 1, got 0"),
        (lambda: net(header_words=0), "net: header_words must be an integer of at least 1, got 0"),
        (lambda: net(ports=[6]), "net: tile of a port must be one of 0..5, got 6"),
        (lambda: net(ports=[1] * 11), "net: tile 1 has more than 10 extra ports"),
        (lambda: net(arbitration="random"), "net: arbitration"),
    ],
)
def test_impossible_meshes_are_refused(make, message):
    with pytest.raises(InputError) as error:
        make()
    assert message in str(error.value)


@pytest.mark.parametrize("operand", ["source", "target"])
def test_a_terminal_that_is_not_there(operand):
    def program(m, packet):
        m.net.send(**{"source": 0, "target": 1, "words": 4, operand: packet.a})

    made = machine([net()], program)
    with pytest.raises(ModelError, match=rf"net.send: {operand} must be a terminal of 0..5, got 6"):
        bounds(made, packets(64, 64, a=[0, 6]))
    with pytest.raises(SimulationError, match=r"bad operand: net.send: net has terminals 0..5, the program"):
        simulate(made, packets(64, 64, a=[0, 6]))


def test_links_are_named_by_the_bound():
    def program(m, packet):
        m.net.send(source=packet.a, target=packet.b, words=9)

    roof = bounds(machine([net()], program, threads=8), packets(64, 64, 64, a=[0, 3, 1], b=[2, 2, 2]))
    assert roof.bottleneck == "net.out2"
    roof = bounds(machine([net()], program, threads=8), packets(64, 64, 64, a=[0, 3, 1], b=[2, 1, 5]))
    assert roof.bottleneck == "net.1>2"
    assert roof.rate_pps == pytest.approx(3 / (2 * 10 * NS))


def test_link_loads_of_bound_and_simulation_are_the_same_table():
    def program(m, packet):
        m.net.deliver(source=0, target=4, words=9)
        m.rest.wait(seconds=86 * NS)  # 4 links, 10 flits: 13 ns

    mesh = net()
    made = machine([mesh, Delay("rest")], program)
    for prediction in (bounds(made, packets(64)), simulate(made, packets(64), packets=2000)):
        loads = link_loads(mesh, prediction)
        assert [(link.name, link.source, link.target) for link in loads if link.load] == [
            ("net.in0", None, 0), ("net.0>1", 0, 1), ("net.1>4", 1, 4), ("net.out4", 4, None)
        ]  # fmt: skip
        assert [link.load for link in loads if link.load] == pytest.approx([10 / 99] * 4, rel=1e-6)
    assert isinstance(loads[0], LinkLoad)
    assert len(loads) == len(mesh.links())


def test_waiting_counts_as_held_and_not_as_load():
    """Two tiles send 10 flits to one exit in turn: each entry is held twice as long as words move over it."""

    def program(m, packet):
        with m.branch(packet.a > 0):
            m.net.deliver(source=1, target=0, words=9)
        with m.otherwise():
            m.net.deliver(source=2, target=0, words=9)

    mesh = net(columns=1, rows=3)
    answer = simulate(machine([mesh], program, threads=8), packets(64, 64, a=[0, 1]), packets=4000)
    loads = {link.name: link for link in link_loads(mesh, answer)}
    assert answer.rate_pps == pytest.approx(1e8, rel=1e-3)
    assert answer.bottleneck in ("net.out0", "net.1>0")
    assert loads["net.out0"].load == pytest.approx(1, rel=1e-3)
    assert loads["net.1>0"].load == pytest.approx(1, rel=1e-3)
    assert loads["net.2>1"].load == pytest.approx(0.5, rel=1e-3)
    assert loads["net.2>1"].held > 0.95


def test_simulation_names_the_link_that_is_loaded_and_not_the_blocked_ones_behind_it():
    def program(m, packet):
        m.net.deliver(source=packet.a, target=m.draw(2, "target") + 2, words=9)

    made = machine([net(columns=4, rows=2)], program, threads=32)
    load = packets(64, 64, a=[0, 1])  # both through 1>2, which has the exit and the rest of the row behind it
    answer = simulate(made, load, packets=5000)
    assert answer.bottleneck == "net.1>2"
    assert answer.utilization["net.in0"].busy > 0.99  # kept all the time, half of it for nothing
    assert answer.utilization["net.in0"].blocked == pytest.approx(0.5, abs=0.05)


def test_two_networks_do_not_meet():
    """Two meshes with the same traffic carry it as if each were alone."""

    def program(m, packet):
        m.parallel(
            lambda: m.gdn.deliver(source=0, target=5, words=9), lambda: m.mdn.deliver(source=0, target=5, words=9)
        )
        m.rest.wait(seconds=QUIET)

    meshes = [Mesh(name, 3, 2, 1e9, 4) for name in ("gdn", "mdn")]
    assert solo(machine([*meshes, Delay("rest")], program), packets(64)).latency == pytest.approx(QUIET + 14 * NS)


# ---- message-dependent deadlock


def relay(words, hold=True):
    """Two tiles that do not read what comes (keep their exit) until their own message is under way."""

    def program(m, packet):
        for here, there in ((0, 1), (1, 0)):
            with m.branch(packet.tile == here):
                held = m.take(f"net.out{here}") if hold else None
                m.rest.wait(seconds=10 * NS)
                m.net.send(source=here, target=there, words=words)
                if held is not None:
                    m.give(held)

    return machine([net(columns=2, rows=1), Delay("rest")], program, threads=2)


def test_tiles_that_send_before_they_read_stand_still():
    """A message longer than the FIFOs on its way leaves its sender only when the other reads: a circle."""
    with pytest.raises(SimulationError) as error:
        simulate(relay(40), packets(64, 64, tile=[0, 1]), packets=1000)
    text = str(error.value)
    assert text.startswith("deadlock: ")
    circle = text.partition("; circle, the holder of each waits for the next: ")[2].split(", ")
    assert {"net.out0", "net.out1", "net.space[in0]", "net.space[in1]"} <= set(circle)
    assert circle.index("net.out0") in ((circle.index("net.space[in1]") + k) % len(circle) for k in (1, 2))


@pytest.mark.parametrize(("words", "hold"), [(5, True), (40, False)])
def test_short_messages_or_tiles_that_read_go_on(words, hold):
    """6 flits fit into the two FIFOs (8) on the way, and tiles that read take any length."""
    assert simulate(relay(words, hold), packets(64, 64, tile=[0, 1]), packets=1000).rate_pps > 0


def test_a_circle_of_plain_servers_is_named_too():
    def program(m, packet):
        first, second = m.take("left"), m.take("right")
        m.rest.wait(seconds=5 * NS)
        m.give(first)
        m.give(second)

    def crossed(m, packet):
        with m.branch(packet.a > 0):
            held = m.take("left")
            m.rest.wait(seconds=5 * NS)
            other = m.take("right")
            m.give(held)
            m.give(other)
        with m.otherwise():
            held = m.take("right")
            m.rest.wait(seconds=5 * NS)
            other = m.take("left")
            m.give(held)
            m.give(other)

    parts = [FifoServer("left", NS), FifoServer("right", NS), Delay("rest")]
    with pytest.raises(
        SimulationError, match=r"circle, the holder of each waits for the next: (left, right|right, left)"
    ):
        simulate(machine(parts, crossed, threads=8), packets(64, 64, a=[0, 1]), packets=50_000)
    assert simulate(machine(parts, program, threads=8), packets(64, 64, a=[0, 1]), packets=100).rate_pps > 0


def test_hidden_resources_have_names_in_messages():
    model = build(relay(4), packets(64, tile=[0]))
    assert {"net.in0", "net.0>1", "net.space[in0]", "net.first[0>1]"} <= set(resource_names(model.servers).values())


# ---- static streams


def streams(*paths, **more):
    return StaticStreams("st", **{"columns": 4, "rows": 4, "clock_hz": 1e9, "paths": list(paths), **more})


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        ([[[0, 1, 2]], [[5, 1]]], "st: paths 0 and 1 both pass the switch of tile 1; streams must not cross"),
        ([[[0, 1, 2]], [[4, 0, 1]]], "st: paths 0 and 1 both use the link 0>1; streams must not cross"),
        ([[[0, 1]], [[9, 5, 1]]], "st: paths 0 and 1 both end at tile 1; streams must not cross"),
        ([[[0, 1]], [[0, 4]]], "st: paths 0 and 1 both start at tile 0; streams must not cross"),
        ([[[0, 5]]], "st: path 0 goes from tile 0 to tile 5, which are not neighbours"),
        ([[[0]], [[3, 4]]], "st: path 1 goes from tile 3 to tile 4, which are not neighbours"),
        ([[[14, 15, 16]]], "st: tile of path 0 must be one of 0..15, got 16"),
        ([[[0, 1], [4, 5]]], "st: path 0 has routes from tiles 0 and 4; all start at one tile"),
        ([[[0, 1, 5], [0, 4, 5]]], "st: path 0 comes to tile 5 from tile 4 and from tile 1; a path is a tree"),
        ([[[0, 1, 0]]], "st: path 0 comes to tile 0 from tile 1 and starts there; a path is a tree"),
        ([[[0, 1], [0, 1]]], "st: path 0 has two routes to tile 1"),
        ([[]], "st: path 0 needs at least one route of at least one tile, got []"),
        ([], "st: needs at least one path"),
    ],
)
def test_paths_that_cannot_be_are_refused(paths, message):
    with pytest.raises(ModelError) as error:
        streams(*paths)
    assert str(error.value) == message


CROSS = ([[1, 5, 9]], [[4, 5, 6]])  # one path down, one to the right, over tile 5


def crossed(paths, load, threads=8, **more):
    """Return bounds and simulation of packets (columns path, words) that are streamed over crossing paths."""

    def program(m, packet):
        m.st.stream(path=packet.path, words=packet.words)

    made = machine([streams(*paths, crossings=True, **more)], program, threads=threads)
    return bounds(made, load), simulate(made, load, packets=8000)


def test_paths_may_cross_where_that_is_said():
    crossing = streams([[0, 1, 2]], [[5, 1]], crossings=True)
    assert [link.name for link in crossing.links()] == [
        "st.in0", "st.in5", "st.0>1", "st.1>2", "st.5>1", "st.out2", "st.out1"
    ]  # fmt: skip
    along = streams([[0, 1, 2], [0, 1]], [[0, 1, 2]], crossings=True)  # a header and a payload of one port
    assert [link.name for link in along.links()] == [
        "st.in0", "st.0>1", "st.1>2", "st.out2.path0", "st.out1", "st.out2.path1"
    ]  # fmt: skip
    assert [s.name for s in along.servers() if "cross" in s.name] == ["st.cross0", "st.cross1", "st.cross2"]
    with pytest.raises(ModelError, match="st: fifo_depth must be an integer of at least 4, got 3"):
        streams([[0, 1]], hop_cycles=3, fifo_depth=3)


@pytest.mark.parametrize(("change", "each"), [(0, 16), (5, 16 + 2 * 5 / 2)])
def test_a_crossing_passes_words_of_one_route_at_a_time(change, each):
    """Two paths of 16 words, alternating: half of what two links carry, less the cycles of every change of route."""
    load = packets(64, 64, path=[0, 1], words=[16, 16])
    roof, seen = crossed(CROSS, load, change_cycles=change, turns=[(5, 0, 1)])
    assert roof.rate_pps == pytest.approx(1 / (16 * NS))
    assert roof.bottleneck == "st.cross5"
    assert seen.rate_pps == pytest.approx(1 / (each * NS), rel=0.08)
    assert seen.rate_pps <= 1.001 / (each * NS)
    apart, _ = crossed(([[1, 5, 9]], [[6, 10, 14]]), load)
    assert apart.rate_pps == pytest.approx(2 / (16 * NS))


def test_routes_have_their_shares_of_a_crossing():
    load = packets(64, 64, 64, path=[0, 1, 1], words=[8, 24, 24])
    roof, seen = crossed(CROSS, load)
    assert roof.rate_pps == pytest.approx(3 / ((8 + 24 + 24) * NS))
    assert 0.9 * roof.rate_pps < seen.rate_pps <= 1.001 * roof.rate_pps
    assert seen.utilization["st.cross5"].busy > 0.95


def test_a_switch_in_turns_waits_for_the_route_whose_turn_it_is():
    """Three of four messages come by path 1: in turns, no more go than have one of path 0 beside them."""
    load = packets(64, 64, 64, 64, path=[0, 1, 1, 1], words=[16] * 4)
    _, free = crossed(CROSS, load, threads=4)
    with pytest.raises(SimulationError, match=r"deadlock|stall"):
        crossed(CROSS, load, threads=4, turns=[(5, 0, 1)])
    assert free.rate_pps == pytest.approx(1 / (16 * NS), rel=0.1)


def test_a_word_that_never_comes_is_told_with_its_turn():
    load = packets(64, path=[1], words=[4])
    with pytest.raises(SimulationError, match=r"st\.turn5\.path1"):
        crossed(CROSS, load, turns=[(5, 0, 1)])


@pytest.mark.parametrize(
    ("paths", "turns", "message"),
    [
        (([[0, 1, 2]], [[2, 1, 0]]), (),
         "st: streams deadlock: path 0 holds the switch of tile 0 and waits for that of tile 1, "
         "path 1 holds the switch of tile 1 and waits for that of tile 0"),
        (CROSS, [(9, 0, 1)], "st: the switch of tile 9 waits for path 1, whose words never come there: its route is "
         "4 > 5 > 6"),
        (CROSS, [(5, 0)], "st: the switch of tile 5 never takes up path 1, which passes there; a program has every "
         "path once"),
        (CROSS, [(5, 0, 1, 1)], "st: the switch of tile 5 has 2 turns for path 1, which passes there; a program has "
         "every path once"),
        (CROSS, [(5, 0, 2)], "st: the switch of tile 5 waits for path 2; there are 0..1"),
        (([[0, 1, 2]], [[0, 1, 2]]), [(0, 0, 1), (1, 1, 0), (2, 0, 1)],
         "st: the switches of tiles 0 and 1 stop path 0 and path 1 for good: their programs have them in different "
         "orders"),
    ],
)  # fmt: skip
def test_crossings_that_stand_still_are_refused(paths, turns, message):
    with pytest.raises(ModelError) as error:
        streams(*paths, crossings=True, turns=turns)
    assert str(error.value) == message
    if not turns:  # with programs of one order opposite streams do not stop each other
        streams(*paths, crossings=True, turns=[(tile, 0, 1) for tile in (0, 1, 2)])


def test_a_multicast_waits_for_its_slowest_target():
    """Tile 2 reads a word in 4 cycles; tile 1 of the same path gets its words no sooner, in the long run."""

    def program(m, packet):
        def slowly():
            with m.loop(16):
                m.st.receive(tile=2, words=1)
                m.rest.wait(seconds=3 * NS)

        m.parallel(lambda: m.st.send(path=0, words=16), lambda: m.st.receive(tile=1, words=16), slowly)

    made = machine([streams([[0, 1, 2], [0, 1]]), Delay("rest")], program)
    assert simulate(made, packets(64), packets=2000).rate_pps == pytest.approx(1 / (16 * 4 * NS), rel=0.1)


def test_paths_work_side_by_side():
    """The path is a column: four streams at once carry four words a cycle."""

    def program(m, packet):
        m.st.stream(path=packet.port, words=16)

    four = streams(*([[4 * row, 4 * row + 1, 4 * row + 2], [4 * row, 4 * row + 1]] for row in range(4)))
    made, load = machine([four], program, threads=64), packets(*[64] * 4, port=[0, 1, 2, 3])
    roof, seen = bounds(made, load), simulate(made, load, packets=20_000)
    assert roof.rate_pps == pytest.approx(4 / (16 * NS))
    assert 0.95 * roof.rate_pps < seen.rate_pps <= roof.rate_pps * (1 + 1e-3)
    loads = {link.name: link.load for link in link_loads(four, seen)}
    assert loads["st.0>1"] == pytest.approx(seen.rate_pps * 4 * NS, rel=1e-3)


def test_a_path_or_tile_that_is_not_there():
    def sends(m, packet):
        m.st.stream(path=packet.a, words=4)

    def receives(m, packet):
        m.st.receive(tile=packet.a, words=4)

    load = packets(64, 64, a=[2, 5])
    with pytest.raises(ModelError, match=r"st.stream: no path is 2; there are 0, 1"):
        bounds(machine([streams([[0, 1]], [[2, 3]])], sends), load)
    with pytest.raises(SimulationError, match=r"st has paths 0..1, the program asks for another"):
        simulate(machine([streams([[0, 1]], [[2, 3]])], sends), load)
    with pytest.raises(ModelError, match=r"st.receive: no tile where one path ends is 2; there are 1, 3"):
        bounds(machine([streams([[0, 1]], [[2, 3]])], receives), load)
    with pytest.raises(SimulationError, match=r"bad operand: st.receive: no path of st ends at that tile"):
        simulate(machine([streams([[0, 1]], [[2, 3]])], receives), load)


def test_random_choices_count_as_spread():
    def program(m, packet):
        m.st.stream(path=m.draw(2, "path"), words=8)
        m.net.send(source=1, target=m.draw(2, "target"), words=packet.packet_bytes // 8 - 1)

    made = machine([streams([[0, 1]], [[2, 3]]), net(columns=2, rows=1)], program, threads=1)
    roof = bounds(made, packets(64))
    shares = {name: u.busy for name, u in roof.utilization.items() if name[0] in "sn"}
    assert shares["st.0>1"] == pytest.approx(shares["st.2>3"]) == pytest.approx(roof.rate_pps * 4 * NS)
    assert shares["net.in1"] == pytest.approx(2 * shares["net.1>0"]) == pytest.approx(roof.rate_pps * 8 * NS)
    assert np.isclose(shares["net.out0"], shares["net.out1"])


def test_messages_between_any_two_terminals_are_drawn():
    assert [choices(net(), end) for end in ("source", "target")] == [net().grid.terminals] * 2


def test_a_short_fifo_lets_two_words_go_in_a_round_trip_of_four_cycles():
    assert cycles_for(np.arange(1, 7), 2, 3).tolist() == [1, 2, 5, 6, 9, 10]
    assert cycles_for(np.arange(1, 7), 4, 3).tolist() == [1, 2, 3, 4, 5, 6]
