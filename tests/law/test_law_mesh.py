"""The mesh equals a flit-by-flit model cycle by cycle: when each sender goes on, when tails arrive, who has which link.

Also streams: words in order and none lost, times of a model that moves word by word.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import mesh_flits, stream_words
from reference.small_machines import machine, packets

from npexplore._kernels import engine
from npexplore.engine.model import build
from npexplore.engine.run import FOREVER
from npexplore.engine.state import State
from npexplore.engine.timeline import holds
from npexplore.machine.resources import Mesh, StaticStreams
from npexplore.machine.resources.base import OwnFaces, Uses
from npexplore.machine.resources.grid import grid_of
from npexplore.machine.resources.mesh import servers_of
from npexplore.machine.workload import Workload

CLOCK, TICKS = 1e9, 1000  # a cycle is 1 ns, 1000 ticks
BEGIN = 2000  # cycles: all threads wait for a packet by then


class Clock(OwnFaces):
    """Writes down when a packet comes by."""

    VISITS = {"note": ("place",)}  # noqa: RUF012

    def servers(self):
        return []

    def uses(self, method, values):
        return Uses(np.float64(0))

    def emit(self, method, operands, asm):
        self.first = asm.shared_global("clock", 4096)
        asm.write(operands["place"] + self.first, asm.now())


@dataclass
class Seen:
    """Cycles noted by the packets, in their order; per server the intervals (first, last cycle) it was held in."""

    noted: list
    held: dict


def seen(network, program, columns, at):
    """Run packets that come at these cycles, each with a thread of its own, until nothing moves."""
    clock, n = Clock("clock"), len(at)

    def noting(m, packet):
        program(m, packet)
        m.clock.note(place=packet.number)

    made = machine([network, clock], noting, threads=n)
    data = {"packet_bytes": np.full(n, 64), "number": np.arange(n)}
    data |= {name: np.array(values, dtype=np.int64) for name, values in columns.items()}
    load = Workload("w", data, arrivals="timestamps", t_ns=BEGIN + np.array(at), ordered=True)
    model = build(made, load)
    state = State(model, 1, 200_000)
    assert state.advance(int(FOREVER), int(FOREVER), int(FOREVER)) in (engine.DEADLOCK, engine.FINISHED)
    log = state.log[: int(state.clock[engine.K_LOG])]
    held = {}
    for server, _, first, last, _ in holds(model, log, int(FOREVER)):
        held.setdefault(server, []).append((first // TICKS - BEGIN, last // TICKS - BEGIN))
    assert all(state.G[clock.first + k] % TICKS == 0 for k in range(n))
    return Seen(
        [int(state.G[clock.first + k]) // TICKS - BEGIN for k in range(n)], {k: sorted(v) for k, v in held.items()}
    )


LENGTHS = st.one_of(st.integers(1, 4), st.integers(1, 24))


@st.composite
def traffic(draw):
    columns, rows = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    ports = draw(st.lists(st.integers(0, columns * rows - 1), max_size=4))
    tiles = st.integers(0, columns * rows + len(ports) - 1)
    few = st.sampled_from(draw(st.lists(tiles, min_size=1, max_size=3)))
    gaps = draw(st.lists(st.integers(0, draw(st.sampled_from([0, 2, 9]))), min_size=1, max_size=20))
    at = np.cumsum(gaps).tolist()
    return columns, rows, ports, [
        (t, draw(tiles), draw(st.one_of(tiles, few)), draw(LENGTHS), draw(st.booleans())) for t in at
    ]  # fmt: skip


@settings(max_examples=100)
@given(
    sent=traffic(), depth=st.sampled_from([1, 1, 2, 3, 4, 4, 8, 24]), hop=st.sampled_from([1, 1, 2, 3]),
    arbitration=st.sampled_from(["oldest", "rotating", "fixed"]),
)  # fmt: skip
def test_worms_move_as_flit_by_flit(sent, depth, hop, arbitration):
    columns, rows, ports, rest = sent
    mesh = Mesh("net", columns, rows, CLOCK, depth, hop_cycles=hop, arbitration=arbitration, ports=ports)

    def program(m, packet):
        with m.branch(packet.wait > 0):
            m.net.deliver(source=packet.source, target=packet.target, words=packet.words)
        with m.otherwise():
            m.net.send(source=packet.source, target=packet.target, words=packet.words)

    at, source, target, flits, wait = (list(column) for column in zip(*rest, strict=True))
    words = [length - 1 for length in flits]  # the rest is the header
    found = seen(mesh, program, {"source": source, "target": target, "words": words, "wait": wait}, at)
    messages = [mesh_flits.Message(*row[:4]) for row in rest]
    mesh_flits.play(columns, rows, ports, depth, hop, messages, arbitration)
    expected = [m.arrived(-1, hop) if waits else m.released for m, waits in zip(messages, wait, strict=True)]
    assert found.noted == expected
    held = {}
    for (a, b), took in mesh_flits.intervals(messages).items():
        name = f"net.in{b}" if a == "in" else f"net.out{a}" if b == "out" else f"net.{a}>{b}"
        held[name] = sorted(took)
    assert found.held == held


@st.composite
def paths(draw):
    """A tree over a grid as routes, from random walks that stop at tiles they have seen."""
    columns, rows = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    x, y = draw(st.integers(0, columns - 1)), draw(st.integers(0, rows - 1))
    way = {y * columns + x: [y * columns + x]}
    for _ in range(draw(st.integers(0, 6))):
        start = draw(st.sampled_from(sorted(way)))
        dx, dy = draw(st.sampled_from([(0, 1), (1, 0), (0, -1), (-1, 0)]))
        x, y = start % columns + dx, start // columns + dy
        if 0 <= x < columns and 0 <= y < rows and y * columns + x not in way:
            way[y * columns + x] = [*way[start], y * columns + x]
    chosen = draw(st.lists(st.sampled_from(sorted(way)), min_size=1, max_size=4, unique=True))
    return columns, rows, [way[tile] for tile in chosen]


@settings(max_examples=80)
@given(
    path=paths(), depth=st.integers(0, 6), hop=st.sampled_from([1, 1, 2, 3]),
    sends=st.lists(st.tuples(st.integers(0, 12), LENGTHS), min_size=1, max_size=5), data=st.data(),
)  # fmt: skip
def test_streams_move_as_word_by_word(path, depth, hop, sends, data):
    columns, rows, routes = path
    depth += hop + 1
    streams = StaticStreams("st", columns, rows, CLOCK, [routes], depth, hop)
    total = sum(words for _, words in sends)
    at = np.cumsum([gap for gap, _ in sends]).tolist()
    jobs = [(t, -1, words) for t, (_, words) in zip(at, sends, strict=True)]
    for tile in [route[-1] for route in routes]:  # each target reads all words, in parts, from some time on
        cuts = sorted({0, total, *data.draw(st.lists(st.integers(0, total), max_size=3))})
        begin = data.draw(st.integers(0, 40))
        jobs += [(begin, tile, b - a) for a, b in pairwise(cuts)]
    jobs.sort(key=lambda job: job[0])

    def program(m, packet):
        with m.branch(packet.tile < 0):
            m.st.send(path=0, words=packet.words)
        with m.otherwise():
            m.st.receive(tile=packet.tile, words=packet.words)

    when, tile, words = (list(column) for column in zip(*jobs, strict=True))
    if len(set(tile)) > 1 or tile[0] >= 0:
        found = seen(streams, program, {"tile": tile, "words": words}, when)
        assert found.noted == stream_words.play(routes, depth, hop, jobs)


SHAPES = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["net", "other"]), "columns": st.integers(1, 3), "rows": st.integers(1, 2),
        "fifo_depth": st.integers(2, 4), "hop_cycles": st.integers(1, 2), "clock_hz": st.sampled_from([1e9, 5e8]),
        "arbitration": st.sampled_from(["oldest", "rotating", "fixed"]),
        "ports": st.lists(st.just(0), max_size=2),
    }
)  # fmt: skip


def told(shape):
    """Return all that solvers read of a mesh: servers, links, next hops, what a visit uses and its rows."""
    mesh, ends = Mesh(**shape), {"source": 0, "target": shape["columns"] * shape["rows"] - 1, "words": 5}

    def program(m, packet):
        getattr(m, mesh.name).deliver(**ends)

    made = machine([mesh], program)
    uses = mesh.uses("deliver", {name: np.float64(value) for name, value in ends.items()})
    used = [(hold.server, float(hold.seconds), float(hold.visits)) for hold in uses.holds]
    hops = mesh.grid.hops.tobytes(), mesh.grid.entries.tobytes(), float(uses.latency)
    return mesh.servers(), mesh.links(), hops, used, build(made, packets(64)).rows.tobytes()


@settings(max_examples=60, deadline=None)
@given(before=SHAPES, shape=SHAPES)
def test_a_mesh_made_after_another_is_as_one_made_first(before, shape):
    told(before)
    after = told(shape)
    grid_of.cache_clear()
    servers_of.cache_clear()
    assert told(shape) == after
