"""Laws of pools joined by queues: no packet is lost or made, whatever the pipeline; a seed gives one run."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.small_machines import NS, packets

from npexplore._kernels import engine
from npexplore.engine.model import build
from npexplore.engine.run import run
from npexplore.engine.state import State
from npexplore.machine.machine import Machine, Pool, Start
from npexplore.machine.resources import BoundedQueue, Delay, FifoServer, LineCard, Processor
from npexplore.machine.resources.ingress import Ingress
from npexplore.solve.bounds import bounds
from npexplore.solve.simulate import simulate

STAGE = st.fixed_dictionaries(
    {
        "count": st.integers(1, 3),
        "work_ns": st.integers(0, 200),
        "shared": st.booleans(),
        "cycles": st.integers(0, 60),
        "send": st.booleans(),
        "turned_away": st.sampled_from([0.0, 0.0, 0.3]),  # finished here instead of handed on
        "priority": st.integers(0, 15),
        "idle": st.sampled_from(["sleep", "poll"]),
        "start": st.sampled_from([Start(), Start("simultaneous"), Start("staggered", 70 * NS)]),
    }
)
QUEUE = st.fixed_dictionaries(
    {
        "capacity": st.integers(1, 5),
        "unit": st.sampled_from(["packets", "bytes"]),
        "when_full": st.sampled_from(["stall", "drop", "credits"]),
        "credit_ns": st.integers(0, 300),
    }
)
LINES = st.integers(1, 4).flatmap(
    lambda n: st.tuples(
        st.lists(STAGE, min_size=n, max_size=n), st.lists(QUEUE, min_size=n - 1, max_size=n - 1), st.booleans()
    )
)
ARRIVALS = st.sampled_from(["saturated", "poisson", "periodic", "batch:3", "batch:4:geometric", "on_off:1us:2us"])
SIZES = st.lists(st.integers(40, 300), min_size=1, max_size=5)


def made_of(stages, queues, lossy_card):
    def program_of(k, stage):
        def program(m, packet):
            if k == 0:
                m.receive.free(bytes=packet.packet_bytes)
            m.work.wait(seconds=stage["work_ns"] * NS)
            if stage["shared"]:
                m.hash.serve()
            m.me.compute(cycles=stage["cycles"] + 1)
            if stage["send"]:
                m.card.send(bytes=packet.packet_bytes)
            if k < len(queues):
                with m.branch(1 - stage["turned_away"], f"path{k}"):
                    getattr(m, f"q{k}").put()

        return program

    pools = [
        Pool(
            f"p{k}", s["count"], program_of(k, s), "me", f"q{k - 1}" if k else None, s["priority"], s["idle"],
            20 if s["idle"] == "poll" else 0, s["start"],
        )
        for k, s in enumerate(stages)
    ]  # fmt: skip
    made = [
        BoundedQueue(
            f"q{k}", q["capacity"] * (300 if q["unit"] == "bytes" else 1), q["unit"], q["when_full"],
            q["credit_ns"] * NS if q["when_full"] == "credits" else 0.0,
        )
        for k, q in enumerate(queues)
    ]  # fmt: skip
    card = LineCard("card", 4e9, buffer_bytes=700, when_full="drop" if lossy_card else "stall")
    shared = [Delay("work"), FifoServer("hash", 20 * NS), Processor("me", 2, 1e9), card]
    return Machine("line", pools, Ingress("receive", 2000, 1), {r.name: r for r in [*made, *shared]})


@settings(max_examples=80)
@given(line=LINES, arrivals=ARRIVALS, sizes=SIZES, seed=st.integers(0, 99), until=st.integers(0, 30_000))
def test_packets_in_are_packets_out_dropped_or_inside(line, arrivals, sizes, seed, until):
    made, load = made_of(*line), packets(*sizes)
    load = load if arrivals == "saturated" else load.with_arrivals(arrivals, 8e6)
    model = build(made, load)
    state = State(model, seed)
    assert state.advance(until * 1000, 10**18, 10**18) == engine.TIME_UP
    counters = dict(zip(model.counters, state.counters[:-1].tolist(), strict=True))
    dropped = sum(n for name, n in counters.items() if name.startswith("drop."))
    done, queued = int(state.done[:, engine.D_COUNT].sum()), int(state.ring_at[:, 4].sum())
    if len(made.pools) > 1:
        threads = [model.servers[f"threads.{pool.name}"] for pool in made.pools]
        busy = sum(server.units - int(state.S[number, engine.S_FREE]) for server, number in threads)
    else:
        begun = state.T[: made.threads, engine.T_WAITS] != model.idle[0]
        busy = int(begun.sum())
    if arrivals == "saturated":
        taken = int(state.G[model.cursor])
    else:
        taken = counters["offered.packets"]
    inside = taken - done - dropped - queued
    if len(made.pools) > 1:
        assert inside == busy
    else:  # a thread that has not begun, or that polls, has none
        assert 0 <= inside <= busy
    for name, queue in made.queues().items():
        number = model.servers[f"{name}.packets"][1]
        waiting = int(state.S[number, engine.S_FREE])
        assert waiting == int(state.ring_at[model_ring(model, made, name), 4]) <= state.G[model.queues[name][1]]
        room = int(state.S[model.servers[f"{name}.room"][1], engine.S_FREE])
        assert 0 <= room <= queue.capacity
        if queue.unit == "packets" and not queue.credit:
            assert room == queue.capacity - waiting


def model_ring(model, made, name):
    """Rings stand in the order: receive buffer, then the queues."""
    return 1 + list(made.queues()).index(name)


@settings(max_examples=40)
@given(line=LINES, arrivals=ARRIVALS, sizes=SIZES, seed=st.integers(0, 99), batches=st.integers(2, 9))
def test_a_seed_gives_one_run_however_it_is_looked_at(line, arrivals, sizes, seed, batches):
    made, load = made_of(*line), packets(*sizes)
    load = load if arrivals == "saturated" else load.with_arrivals(arrivals, 5e6)
    model, until = build(made, load), 20e-6
    whole = run(model, seed, 0, 1, until_s=until).snapshots[-1]
    for again in (
        run(model, seed, 0, batches, until_s=until).snapshots[-1],
        run(build(made, load), seed, 0, batches, from_s=until / 3, until_s=until).snapshots[-1],
    ):
        assert again.now == whole.now
        assert again.events == whole.events
        for name in ("done", "counters", "grants", "integral_free", "integral_line", "integral_blocked", "histogram"):
            assert np.array_equal(getattr(again, name), getattr(whole, name)), name


@settings(max_examples=40)
@given(line=LINES, sizes=SIZES, seed=st.integers(0, 99))
def test_no_pipeline_is_faster_than_its_bounds(line, sizes, seed):
    stages, queues, lossy = line
    for stage in stages:
        stage["turned_away"] = 0.0
    made, load = made_of(stages, queues, lossy), packets(*sizes, **{"class": range(len(sizes))})
    window = 200e-6
    found = simulate(made, load, seed=seed, window_s=window, boot_s=20e-6)
    done = [round(found.classes[str(k)].rate_pps * window) for k in range(len(sizes))]
    if not sum(done):  # what does not finish in a whole window is faster than no bound
        return
    finished = packets(*np.repeat(sizes, done), **{"class": np.repeat(range(len(sizes)), done)})
    inside = made.threads + sum(
        queue.capacity / (min(sizes) if queue.unit == "bytes" else 1) for queue in made.queues().values()
    )
    inside += 700 / min(sizes)  # in the card's buffer
    slowest = 1 / min(bounds(made, packets(size, **{"class": [0]})).rate_pps for size in sizes)
    assert found.rate_pps <= bounds(made, finished).rate_pps * (1 + 1e-3 + inside * slowest / window)
