"""How a run becomes a prediction: windows, quantiles, intervals, bottleneck, drops, and runs that cannot go on."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from reference.small_machines import NS, Exponential, dram, machine, packets

import npexplore as npx
from npexplore._kernels import engine
from npexplore.engine.intervals import bin_edges, interval, quantiles
from npexplore.engine.model import MachineCompiler, build
from npexplore.engine.run import run
from npexplore.engine.state import State, stream_keys
from npexplore.errors import InputError, ModelError, RefusedError, SimulationError
from npexplore.machine.resources import BufferPool, Delay, FifoServer
from npexplore.machine.under_load import under_load
from npexplore.machine.workload import Workload, offered_rate
from npexplore.machine.workload_sources import workload
from npexplore.solve.bounds import bounds, busy_shares
from npexplore.solve.prediction import Prediction, Utilization, bottleneck
from npexplore.solve.queueing.finite_queue import chances, finite_queues, possible
from npexplore.solve.queueing_model import queueing
from npexplore.solve.seeds import combine, replicate
from npexplore.solve.simulate import simulate

SERVER, LOAD = FifoServer("hash", 100 * NS), packets(64)


def serving(threads=1, *resources, then=None, **options):
    def program(m, packet):
        m.receive.free(bytes=64)
        m.hash.serve()
        if then is not None:
            then(m)

    return machine([SERVER, *resources], program, threads=threads, **options)


# ---- latency histogram


def test_bins_hold_the_latencies_from_their_edge_on():
    ticks = np.array([0, 1, 31, 32, 63, 64, 65, 127, 128, 1000, 10**9])
    bins = np.array([v if v < 64 else 32 * (v.bit_length() - 6) + (v >> (v.bit_length() - 6)) for v in ticks.tolist()])
    low, width = bin_edges(bins)
    assert low[:5].tolist() == [0, 1, 31, 32, 63]
    assert width[:5].tolist() == [1] * 5
    assert np.all((low <= ticks) & (ticks < low + width) & (width <= ticks / 32 + 1))


def test_quantiles():
    histogram = np.zeros(engine.BINS, dtype=np.int64)
    histogram[[10, 20, 30]] = 50, 45, 5
    assert quantiles(histogram, (0.5, 0.51, 0.95, 0.96, 1.0), 2.0) == [20, 40, 40, 60, 60]
    assert quantiles(np.zeros(engine.BINS, dtype=np.int64), (0.5,), 1.0) == [None]


def test_interval_is_students():
    values = np.array([1.0, 2.0, 3.0, 4.0])
    low, high = interval(values)
    assert (low + high) / 2 == 2.5
    assert (high - low) / 2 == pytest.approx(3.182446 * (5 / 3) ** 0.5 / 2, rel=1e-6)  # t of 3 degrees of freedom
    with pytest.raises(InputError, match="an interval needs at least 2 values, got 1"):
        interval(values[:1])


# ---- bottleneck


def named(**busy):
    servers = {s.name: s for s in serving(1, dram(), Delay("think")).servers().values()}
    return bottleneck(servers, {name.replace("_", "."): share for name, share in busy.items()})


def test_bottleneck_is_the_busiest_server():
    assert named(hash=0.9, dram_bus=0.99) == "dram.bus"
    assert named(hash=0.5, dram_bus=0.6) == "threads"
    assert named(hash=0.5, dram_slots=0.99) == "dram.slots"
    assert named(hash=0.86, dram_slots=0.99) == "hash"
    assert named(receive_buffer=1.0) == "threads"
    assert named() == "threads"


def test_one_bank_that_all_want_is_the_bottleneck():
    def program(m, packet):
        m.dram.read(bytes=64, bank=0)

    made = machine([dram()], program, threads=8)
    answers = bounds(made, LOAD), queueing(made, LOAD), simulate(made, LOAD)
    assert [answer.bottleneck for answer in answers] == ["dram.bank"] * 3
    assert answers[2].utilization["dram.bank"].busy == pytest.approx(0.25, abs=0.01)


# ---- what is counted


@pytest.mark.parametrize(("counted", "bits"), [("packet bytes", 8 * 100), ("padded cells", 8 * 128)])
def test_all_solvers_count_the_same_bytes(counted, bits):
    made = serving(2, counted=counted)
    for solver in (bounds, queueing, simulate):
        answer = solver(made, packets(100))
        assert answer.throughput_bps / answer.rate_pps == pytest.approx(bits)
        assert answer.counted == counted


# ---- runs


def test_warm_up_is_cut_and_the_rest_measured():
    answer = simulate(serving(3), LOAD, packets=1600)
    assert answer.about["packets"] == 1600
    assert answer.about["batches"] == 16
    assert answer.rate_pps == pytest.approx(1e7)
    assert answer.ci95["rate_pps"] == pytest.approx((1e7, 1e7))
    assert answer.latency_s.mean == pytest.approx(300 * NS)
    assert answer.latency_s.p50 == answer.latency_s.p99 == pytest.approx(300 * NS, rel=1 / 64)
    assert answer.utilization["hash"] == pytest.approx((1, 0))
    assert answer.queue["hash"] == (pytest.approx(2), 2)
    assert (answer.solver, answer.seed, answer.exact, answer.offered_pps) == ("simulation", 1, False, None)
    assert "hash" in repr(answer)
    assert "<td>hash</td>" in answer._repr_html_()


def test_blocked_is_held_while_its_holder_waits():
    """Two threads take a slot each of the DRAM; while one waits for the bank its slot is blocked."""

    def program(m, packet):
        m.dram.read(bytes=64, bank=0)

    answer = simulate(machine([dram(slots=2)], program, threads=2), LOAD, packets=1600)
    # one access a 129 ns; its slot is held 135 ns if the bank were free, and while it waits for the bank as well
    busy, blocked = answer.utilization["dram.slots"]
    assert busy == pytest.approx(1, abs=1e-3)
    assert blocked == pytest.approx((2 * 129 - 135) / (2 * 129), abs=0.01)


def test_replications():
    made = machine([Exponential("one", 50 * NS)], lambda m, p: m.one.serve())
    runs = [simulate(made, LOAD, seed=s, packets=400) for s in (5, 6, 7)]
    both = replicate(made, LOAD, [5, 6, 7], packets=400)
    assert both.rate_pps == pytest.approx(np.mean([r.rate_pps for r in runs]))
    assert both.ci95["rate_pps"] == pytest.approx(interval(np.array([r.rate_pps for r in runs])))
    assert len({r.rate_pps for r in runs}) == 3
    assert both.about["seeds"] == 3


def test_of_equally_frequent_bottlenecks_the_first_is_named():
    """Not the one that a set happens to begin with."""
    made = serving()
    run = simulate(made, LOAD, packets=400)
    names = [f"server {k}" for k in range(9)]
    for first in range(9):
        told = [replace(run, bottleneck=name) for name in names[first:] + names[:first]]
        assert combine(told).bottleneck == names[first]


@pytest.mark.parametrize(
    ("options", "message"),
    [({"seed": -1}, "seed must be at least 0, got -1"), ({"packets": 0}, "packets must be greater than 0")],
)
def test_runs_that_cannot_be_asked_for(options, message):
    with pytest.raises(InputError, match=message):
        simulate(serving(), LOAD, **options)
    with pytest.raises(InputError, match="needs at least one seed"):
        replicate(serving(), LOAD, [])


def test_deadlock_names_who_waits_for_what():
    def program(m, packet):
        m.buffers.take(count=1)
        m.hash.serve()

    with pytest.raises(SimulationError, match="deadlock: 2 tokens wait for buffers") as error:
        simulate(machine([BufferPool("buffers", 3), SERVER], program, threads=2), LOAD)
    assert error.value.kind == "deadlock"


def test_a_program_without_time_ends_in_an_error_that_says_where():
    with pytest.raises(SimulationError, match="endless instant"):
        simulate(machine([BufferPool("buffers", 3)], lambda m, p: m.buffers.give(count=0)), LOAD, packets=10**9)


def test_forks_that_pile_up_are_an_error():
    def program(m, packet):
        with m.fork():
            m.slow.wait(seconds=1)
        m.hash.serve()

    with pytest.raises(SimulationError, match="saturation: row"):
        simulate(machine([Delay("slow"), SERVER], program), LOAD)


def test_negative_time_names_the_visit():
    made = machine([Delay("think")], lambda m, p: m.think.wait(seconds=(64 - p.packet_bytes) * 2))
    with pytest.raises(SimulationError, match=r"bad operand: think.wait \(row \d+\)"):
        simulate(made, packets(65))


# ---- arrivals


def test_packets_that_find_no_room_are_dropped_and_counted():
    """Ten 64-byte packets at one instant, room for four: the thread takes the first only when all ten have come."""
    load = Workload("burst", {"packet_bytes": np.full(10, 64)}, "timestamps", t_ns=np.full(10, 5000))
    answer = simulate(serving(1, capacity_bytes=256), load)
    assert (answer.about["packets"], answer.drops) == (4, {"receive": 6})
    assert answer.latency_s.mean == pytest.approx(250 * NS)
    assert answer.bottleneck != "arrivals"


def test_a_padded_packet_takes_whole_cells():
    load = Workload("burst", {"packet_bytes": np.full(3, 65)}, "timestamps", t_ns=np.full(3, 5000))

    def program(m, packet):
        m.hash.serve()
        m.receive.free(bytes=128)

    assert simulate(machine([SERVER], program, capacity_bytes=192), load).drops["receive"] == 2


def test_bytes_leave_with_all_their_cells():
    """Of 65 bytes, as of 128: what comes later finds room."""

    def program(m, packet):
        m.hash.serve()
        m.receive.free(bytes=packet.packet_bytes)

    load = packets(65).with_arrivals("periodic", 1e6)
    answer = simulate(machine([SERVER], program, capacity_bytes=192), load, packets=400)
    assert not sum(answer.drops.values())


@pytest.mark.parametrize(("sizes", "taken"), [((65,), 128), ((64, 65), 96), ((1500, 64), 800)])
def test_a_program_that_frees_less_or_more_than_packets_take(sizes, taken):
    load = packets(*sizes).with_arrivals("poisson", 1e6)
    said = (
        rf"small: packets of small take {taken} bytes of 'receive' in the mean \(in cells of 64\), the program frees 64"
    )
    with pytest.raises(InputError, match=said):
        simulate(serving(1), load)
    assert simulate(serving(1), packets(*sizes), packets=100).rate_pps > 0  # an endless supply fills no buffer


@pytest.mark.parametrize("plain", [True, False])
def test_demands_are_asked_for_what_is_freed_only_where_it_is_not_plain(plain):
    """A packet that frees its length by one visit on all ways needs no walk over the programs."""

    def program(m, packet):
        m.hash.serve()
        with nullcontext() if plain else m.branch(0.5):
            m.receive.free(bytes=packet.packet_bytes)

    load, asked = packets(64).with_arrivals("poisson", 1e6), []
    compiler = MachineCompiler(machine([SERVER], program, capacity_bytes=192), load)
    compiler.model(load, lambda: asked.append("demands"))
    assert asked == [] if plain else asked == ["demands"]


def test_time_stamps_are_kept():
    load = Workload("two", {"packet_bytes": np.array([64, 64])}, "timestamps", t_ns=np.array([2000, 7000]))
    answer = simulate(serving(2), load)
    assert answer.about["simulated_s"] == pytest.approx(7100 * NS)
    assert answer.latency_s.mean == pytest.approx(100 * NS)
    assert answer.offered_pps == offered_rate(load) == pytest.approx(1 / 5e-6)
    assert answer.bottleneck == "arrivals"


def test_periodic_arrivals_below_saturation_go_through():
    answer = simulate(serving(2), LOAD.with_arrivals("periodic", 5e6))
    assert answer.rate_pps == pytest.approx(5e6, rel=1e-6)
    assert answer.drops == {"receive": 0}
    assert answer.utilization["hash"].busy == pytest.approx(0.5, rel=1e-3)


def test_overload_drops_the_difference():
    answer = simulate(serving(2), LOAD.with_arrivals("periodic", 2e7), packets=4000)
    assert answer.rate_pps == pytest.approx(1e7, rel=1e-3)
    assert answer.drops["receive"] == pytest.approx(4000, rel=0.01)
    assert answer.bottleneck == "hash"


def test_a_program_that_keeps_the_buffer_stops_with_an_error():
    made = machine([SERVER], lambda m, p: m.hash.serve(), capacity_bytes=8192)
    with pytest.raises(ModelError, match="no program frees the receive buffer 'receive' of 8192 bytes"):
        simulate(made, LOAD.with_arrivals("poisson", 1e6))


# ---- the other solvers


def test_bounds_name_the_ceiling():
    def program(m, packet):
        m.hash.serve()
        m.think.wait(seconds=900 * NS)

    for threads, rate, name in [(5, 5e6, "threads"), (9, 9e6, "threads"), (11, 1e7, "hash")]:
        answer = bounds(machine([SERVER, Delay("think")], program, threads=threads), LOAD)
        assert (answer.rate_pps, answer.bottleneck) == (pytest.approx(rate), name)
        assert answer.about == {
            "ceiling_pps.hash": pytest.approx(1e7),
            "ceiling_pps.threads": pytest.approx(threads * 1e6),
        }
        assert answer.latency_s.mean == pytest.approx(1e-6)
        assert answer.utilization["hash"].busy == pytest.approx(rate / 1e7)


def test_bounds_know_the_arrivals():
    made = serving(4)
    assert bounds(made, LOAD.with_arrivals("poisson", 1e6)).bottleneck == "arrivals"
    assert bounds(made, LOAD.with_arrivals("poisson", 1e6)).rate_pps == 1e6
    assert bounds(made, LOAD.with_arrivals("poisson", 1e9)).bottleneck == "hash"
    timed = Workload("t", {"packet_bytes": np.array([64, 64])}, "timestamps", t_ns=np.array([0, 10**6]))
    assert bounds(made, timed).rate_pps == pytest.approx(1e3)


def test_offered_rate_of_one_instant():
    load = Workload("t", {"packet_bytes": np.array([64, 64])}, "timestamps", t_ns=np.array([7, 7]))
    assert offered_rate(load) == float("inf")


@pytest.mark.parametrize(
    ("arrivals", "reason"), [
        ("timestamps", "recorded arrival times are not a random process"),
        ("batch:8", "no formula covers several servers behind batches of 8 packets"),
        ("on_off:2us:2us", "no formula covers several servers behind on-off spans of packets"),
    ],
)  # fmt: skip
def test_queueing_refuses_arrivals_it_cannot_describe(arrivals, reason):
    load = Workload("t", {"packet_bytes": np.array([64, 64])}, "timestamps", None, np.array([0, 10**6]))
    load = load if arrivals == "timestamps" else LOAD.with_arrivals(arrivals, 1e6)
    for solve in (lambda: queueing(serving(), load), lambda: npx.design("ixp1200").queueing(load)):
        with pytest.raises(RefusedError, match=f"queueing: .*: {reason}; use `estimate`"):
            solve()


def test_queueing_names_what_it_assumes_and_leaves_out():
    def program(m, packet):
        m.buffers.take(count=1)
        m.parallel(m.hash.serve, lambda: m.dram.read(bytes=64, bank=0))
        m.buffers.give(count=1)

    answer = queueing(machine([SERVER, dram(queue_limit=3), BufferPool("buffers", 3)], program, threads=4), LOAD)
    for words in (
        "residual-time MVA", "flow-equivalent station for buffers, dram.queue",
        "time that overlaps as a surrogate delay",
    ):  # fmt: skip
        assert words in answer.approximation
    assert not answer.exact
    assert queueing(serving(), LOAD).approximation == "deterministic event graph"


def test_queueing_without_any_server():
    made = machine([Delay("think")], lambda m, p: m.think.wait(seconds=1e-6), threads=3)
    assert queueing(made, LOAD).rate_pps == pytest.approx(3e6)


def test_finite_queue_is_m_m_1_k():
    rho, places = 0.8, 5
    p = rho ** np.arange(places + 1)
    p /= p.sum()
    throughput, response, loss = finite_queues(np.array([0.8]), np.ones((1, 1)), places)
    assert loss == pytest.approx(p[-1])
    assert throughput == pytest.approx(1 - p[0])
    assert response == pytest.approx(np.sum(np.arange(places + 1) * p) / (1 - p[0]))


@pytest.mark.parametrize("rate", [0.5, 0.999, 1.5])
@pytest.mark.parametrize("longer", [0.3, 4.0])
@pytest.mark.parametrize("curve", [[1.0], [0.2, 0.5, 1.0]])
def test_a_queue_ends_where_nobody_is_with_any_chance(rate, longer, curve):
    """What is left out is 0 to the last bit; what is there is what all places give."""
    given = np.array([rate]), np.array([curve]), 200_000, np.array([longer])
    ends, whole = possible(*given), chances(*given)[0]
    assert not whole[ends + 1 :].any()
    np.testing.assert_allclose(chances(*given, ends)[0], whole[: ends + 1], rtol=1e-12)
    assert (ends < 10_000) == (rate < 0.9)
    response = finite_queues(*given)[1]
    assert response == pytest.approx(whole @ np.arange(200_001.0) / (rate * (1 - whole[-1])), rel=1e-9)


def test_utilization_is_the_mean_over_members():
    def program(m, packet):
        m.dram.read(bytes=64, bank=packet.bank)
        m.receive.free(bytes=64)

    d = under_load(machine([dram()], program), packets(64, 64, bank=[0, 1]))
    assert busy_shares(d, 1e6)["dram.bank"] == pytest.approx(2 * 1e6 * d.demands.servers["dram.bank"].seconds / 4)


# ---- random streams


def test_streams_have_a_key_for_each_source_and_turn():
    keys = stream_keys(["bank", None, "bank", "coin"], seed=1)
    assert keys[1] == 0
    assert len(set(keys.tolist())) == 4
    assert keys[[0, 2]].tolist() == stream_keys(["bank", "coin", "bank"], seed=1)[[0, 2]].tolist()
    assert stream_keys(["bank"], seed=2)[0] != keys[0]


def test_a_mix_is_shuffled_by_the_seed_and_a_capture_is_not():
    def order(load, seed):
        made = machine([SERVER], lambda m, p: m.hash.serve())
        shots = run(build(made, load), seed, 50, 50).snapshots
        return np.diff([s.done[0, engine.D_BYTES] for s in shots]).tolist()

    sizes = np.arange(1, 51)
    mix, capture = (Workload("w", {"packet_bytes": sizes}, ordered=ordered) for ordered in (False, True))
    assert order(capture, 1) == order(capture, 2) == sizes.tolist()
    assert order(mix, 1) != order(mix, 2)
    assert sorted(order(mix, 1)) == sizes.tolist()


def test_progress_is_called_for_each_batch():
    seen = []
    simulate(serving(), workload(packet_bytes=64), packets=160, progress=seen.append)
    assert seen == list(range(1, 19))


def test_predictions_say_what_they_are():
    plain = Prediction("bounds", 1e9, 1e6, "packet bytes", "hash", {"hash": Utilization(0.5)})
    assert repr(plain) == "bounds: 1 Gb/s (packet bytes), 1 Mpps, bottleneck hash"


# ---- long runs


@pytest.mark.filterwarnings("ignore:wait.wait:npexplore.units.UnitWarning")
def test_integrals_of_a_run_of_hours_do_not_go_around():
    """20,000 s at 1 ps a tick, 8,192 bytes of buffer: the integral of free bytes is 18 times what 64 bits hold."""

    def program(m, packet):
        m.wait.wait(seconds=10.0)
        m.receive.free(bytes=64)

    made = machine([Delay("wait")], program, threads=2)
    answer = simulate(made, packets(64).with_arrivals("periodic", 0.05), packets=1000)
    assert answer.about["simulated_s"] == pytest.approx(20_000, rel=1e-3)
    assert answer.about["little_gap"] == 0
    assert answer.utilization["receive.buffer"].busy == pytest.approx(0.5 * 64 / 8192, rel=1e-3)
    assert answer.latency_s.mean == pytest.approx(10)


def test_where_a_run_is_cut_changes_nothing():
    load = workload(packet_bytes=64, arrivals="poisson", rate="5Mpps")
    model = build(serving(4), load)
    whole, state = run(model, 3, 2000, 4).snapshots[-1], State(model, 3)
    state.slice = 100_000
    assert state.advance(10**15, 2000, 10**12) == engine.COUNT_UP
    cut = state.snapshot()
    assert state.carried is not None
    for name, value in vars(whole).items():
        assert np.array_equal(np.asarray(getattr(cut, name)), np.asarray(value)), name


def test_a_clock_that_ends_is_told():
    load = packets(64).with_arrivals("periodic", 1e-3)
    with pytest.raises(
        SimulationError, match=r"clock: 9\d+ packets take longer than 4e\+06 s, where a clock of 1e-12 s"
    ):
        simulate(serving(2), load)
    late = Workload("late", {"packet_bytes": np.array([64])}, "timestamps", t_ns=np.array([5 * 10**15]))
    with pytest.raises(InputError, match=r"late: time stamps must end before 4e\+06 s.* got 5e\+06 s"):
        build(serving(2), late)
