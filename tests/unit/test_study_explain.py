"""Explanations: elasticities with known values, three solvers side by side, words that say what the numbers say."""

import dataclasses
from functools import partial

import numpy as np
import pytest

import npexplore
from npexplore.designs import Design
from npexplore.errors import InputError
from npexplore.machine import FifoServer, Ingress, Machine, Pool
from npexplore.machine.parameters import MachineFile, Parameters
from npexplore.machine.workload import Workload
from npexplore.study.explaining.explain import explain
from npexplore.study.explaining.paired import forwarded, ratio
from npexplore.study.explaining.sensitivity import FIRST, Elasticity, Sensitivity, sensitivity_in_stages
from npexplore.study.explaining.words import in_words, rate, share, short
from npexplore.study.sweeping.answers import answer_all
from npexplore.study.sweeping.grid import SweepPoint

LOAD = npexplore.workload(packet_bytes=64)
DESIGN = npexplore.design("ixp2400")


def sensitivity(*of, **options):
    return list(sensitivity_in_stages(*of, **options))[-1]


@pytest.fixture(scope="module")
def hash_bound():
    """Return a machine that its hash unit binds alone: one packet in 2 us, whatever else."""
    return sensitivity(DESIGN.with_(hash_ns=2000.0), LOAD, workers=2)


def by_name(changes):
    return {e.knob: e for e in changes.found}


# ---- elasticities


def test_a_machine_bound_by_one_server_follows_that_server_alone(hash_bound):
    found = by_name(hash_bound)
    assert set(found) == {"hash_ns"}
    e = found["hash_ns"]
    assert e.bounds == pytest.approx(-1.0)
    assert e.queueing == pytest.approx(-1.0, abs=1e-3)
    assert e.simulated == pytest.approx(-1.0, abs=5e-3)
    assert (e.value, e.low, e.high, e.unit, e.kind) == (2000.0, 1900.0, 2100.0, "ns", "fitted")
    assert e.elasticity == e.simulated
    assert e.noise < 0.01


def test_parameters_without_effect_are_named_not_hidden(hash_bound):
    read = DESIGN.depends_on(LOAD)
    assert {"banks", "threads", "bus_bits"} <= set(hash_bound.without_effect)
    assert {"hash_ns", *hash_bound.without_effect, *hash_bound.not_varied} == read
    assert hash_bound.not_varied["scheme"] == "a choice"


@pytest.mark.slow
def test_a_machine_bound_by_its_bus_follows_the_shares_of_bus_time():
    """Bus time is (bytes + overhead) / (width x clock), so the elasticity to the overhead is its share, negative."""
    load = Workload("large", {"packet_bytes": np.full(1, 1500)})
    machine = DESIGN.with_(banks=64, dram_slots=64)
    found = by_name(sensitivity(machine, load))
    overhead = 1 - machine.bounds(load).rate_pps / machine.with_(bus_overhead_bytes=0).bounds(load).rate_pps
    assert found["bus_overhead_bytes"].bounds == pytest.approx(-overhead, rel=1e-2)
    for name in ("bus_bits", "bus_clock_mhz"):
        assert found[name].bounds == pytest.approx(1.0)
        assert found[name].simulated == pytest.approx(1.0, abs=0.05)
    assert {e.knob for e in list(found.values())[:2]} == {"bus_bits", "bus_clock_mhz"}  # largest first


def test_a_step_is_no_help_in_the_direction_that_gains_nothing():
    """Cells a little smaller than the packets double the accesses; larger ones gain nothing."""
    changes = sensitivity(DESIGN.with_(hash_ns=1.0), LOAD)
    cell = by_name(changes)["cell_bytes"]
    assert cell.less < -1
    assert cell.more == pytest.approx(0.0, abs=0.1)
    assert cell.gain < 0.1
    assert "cell_bytes" not in str(explanation_with(changes))


def explanation_with(changes):
    return dataclasses.replace(explain(DESIGN, LOAD, elasticities=False), sensitivity=changes)


def test_pairs_of_batches_know_their_noise():
    """Over seeds an elasticity strays by about as much as one run's interval says (2.1 standard deviations)."""
    ends = [DESIGN.with_(banks=n) for n in (3, 5)]
    points = [SweepPoint(made, LOAD, "simulation", seed) for seed in range(1, 13) for made in ends]
    told = [forwarded(*pair) for pair in zip(points, answer_all(points, 800), strict=True)]
    ratios = [ratio(a, b) for a, b in zip(told[::2], told[1::2], strict=True)]
    spread = np.std([one.log for one in ratios], ddof=1)
    assert 1.2 < np.mean([one.half for one in ratios]) / spread < 4
    assert ratio(told[0], told[0]) == pytest.approx((0, 0), abs=1e-12)


def test_common_random_numbers_repeat_exactly(hash_bound):
    assert sensitivity(DESIGN.with_(hash_ns=2000.0), LOAD, workers=1) == hash_bound


def test_what_is_simulated_first_is_what_stands_in_the_end():
    dram = npexplore.design("ixp2400_dram")
    first, last = sensitivity_in_stages(dram)
    told = by_name(last)
    assert 0 < len(first.found) <= FIRST
    assert all(told[e.knob] == e for e in first.found)


def test_an_end_out_of_range_leaves_the_other_side():
    changes = sensitivity(npexplore.design("ixp2400_dram").with_(narrow_share=1.0, window=1))
    found = by_name(changes)
    assert (found["narrow_share"].low, found["narrow_share"].high) == (0.95, 1.0)
    assert (found["window"].low, found["window"].high) == (1.0, 2.0)
    assert found["window"].simulated > 0.5


def test_a_zero_has_no_percentage():
    assert sensitivity(npexplore.design("ixp2400_dram")).not_varied["narrow_share"] == "zero has no percentage"


def test_an_impossible_neighbour_leaves_the_other_side():
    two = by_name(sensitivity(DESIGN.with_(scheme="fcb_tb", threads=2, scratch_bytes=256), LOAD))["threads"]
    assert (two.low, two.value, two.high) == (1.0, 2.0, 2.0)  # a third thread does not fit
    assert two.simulated == pytest.approx(1.0, abs=0.05)
    one = sensitivity(DESIGN.with_(scheme="fcb_tb", threads=1, scratch_bytes=128), LOAD)
    assert one.not_varied["threads"] == "no value near it works"


def test_a_long_capture_is_not_played_again_for_each_parameter(monkeypatch):
    monkeypatch.setattr("npexplore.study.explaining.sensitivity.LONGEST_TRACE", 3)
    monkeypatch.setattr("npexplore.designs.base.Design.simulate", None)
    times = np.arange(4) * 200
    load = Workload("t", {"packet_bytes": np.full(4, 1500)}, arrivals="timestamps", t_ns=times)
    changes = sensitivity(DESIGN, load)
    assert changes.found
    assert all(e.simulated is None and e.noise is None and e.elasticity == e.bounds for e in changes.found)


def test_progress_counts_every_point(hash_bound):
    seen = []
    sensitivity(npexplore.design("ixp2400_dram"), progress=lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1]
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_noise_hides_what_does_not_stand_out_of_it():
    e = Elasticity("banks", "knob", 4, 3, 5, "", 0.0, 0.0, 0.05, 0.06, -0.05, 0.05)
    assert not e.matters
    assert dataclasses.replace(e, noise=0.04).matters
    assert not dataclasses.replace(e, simulated=0.005, noise=0.0).matters
    assert dataclasses.replace(e, simulated=None, noise=None, queueing=0.3).elasticity == 0.3


# ---- explanations


def test_the_three_answers_are_those_of_the_solvers():
    e = explain(DESIGN, LOAD, seed=3, elasticities=False)
    assert e.predictions["simulated"].throughput_bps == DESIGN.simulate(LOAD, 3).throughput_bps
    document = e.to_dict()
    for name, solve in {"bounds": DESIGN.bounds, "queueing": DESIGN.queueing}.items():
        assert document[name] == solve(LOAD).throughput_bps
    assert document["throughput_bps"] == document["estimate"]["throughput_bps"]
    low, high = document["estimate"]["ci95"]["throughput_bps"]
    assert low < document["throughput_bps"] < high
    assert e.best.breakdown is e.predictions["simulated"].breakdown
    assert document["latency_ns"]["mean"] == e.best.latency_s.mean * 1e9
    assert document["utilization"]["hash"] == {"busy": e.best.utilization["hash"].busy, "blocked": 0.0}
    assert document["sensitivity"] is None


def test_a_design_explains_itself():
    found = [one(LOAD, elasticities=False).to_dict() for one in (DESIGN.explain, partial(explain, DESIGN))]
    for one in found:
        del one["estimate"]["seconds"]
    assert found[0] == found[1]


def test_seeds_are_replications():
    e = explain(DESIGN, LOAD, seed=5, seeds=3, elasticities=False)
    assert e.predictions["simulated"].about["seeds"] == 3
    assert e.seed == 5
    assert e.best is e.predictions["simulated"]
    assert "estimate" in e.refused


def test_a_refusal_is_null_and_says_why():
    timed = Workload("two", {"packet_bytes": np.array([64, 64])}, "timestamps", t_ns=np.array([0, 1000]))
    document = explain(npexplore.design("ixp1200"), timed, elasticities=False).to_dict()
    assert document["queueing"] is None
    assert "recorded arrival times are not a random process" in document["refused"]["queueing"]
    assert document["refused"]["simulated"] is None
    assert document["bottleneck"] == "arrivals"


def test_the_chain_of_a_small_machine_is_a_fourth_answer(monkeypatch):
    """Or a line that says how many states are too many."""
    one = npexplore.design("server").with_(cores=1)
    document = explain(one, LOAD, packets=200, elasticities=False, chain_phases=1).to_dict()
    assert document["chain"] == one.chain(LOAD, phases=1).throughput_bps
    assert document["solvers"]["chain"]["about"]["states"] > 1
    assert "chain" not in explain(one, LOAD, packets=200, elasticities=False).to_dict()
    monkeypatch.setattr("npexplore.solve.machine_chain.MOST_STATES", 3)
    refused = explain(one, LOAD, packets=200, elasticities=False, chain_phases=1).to_dict()
    assert refused["chain"] is None
    assert refused["refused"]["chain"].startswith("chain: server: more than 3 states")


def test_queueing_solved_beside_the_changes_says_the_same_and_raises_its_errors(monkeypatch):
    answered = []
    options = {"packets": 200, "elasticities": False, "workers": 1}
    e = explain(DESIGN, LOAD, **options, changes=True, knees=False, answered=lambda e: answered.append(set(e.solvers)))
    assert e.predictions["queueing"] == explain(DESIGN, LOAD, **options).predictions["queueing"]
    assert len(answered) == 3
    assert e.what_if.changes

    def broken(*_):
        raise ZeroDivisionError("of this test")

    monkeypatch.setattr("npexplore.designs.base.Design.queueing", broken)
    with pytest.raises(ZeroDivisionError, match="of this test"):
        explain(DESIGN, LOAD, **options, changes=True, knees=False)


def test_the_machine_as_it_is_is_estimated_once(monkeypatch):
    asked, estimate = [], Design.estimate

    def counted(design, *args, **options):
        asked.append(design.parameters.changed())
        return estimate(design, *args, **options)

    monkeypatch.setattr(Design, "estimate", counted)
    one = npexplore.design("gorilla").with_(clusters=1)  # a window ends its runs: estimates settle what a change gains
    explain(one, elasticities=False, changes="best", knees=False, workers=1)
    assert asked.count({"clusters": 1}) == 1
    assert len(asked) > 1


def test_a_run_without_progress_leaves_the_other_answers(monkeypatch):
    def stuck(*args, **options):
        raise npexplore.errors.SimulationError("deadlock", "16 tokens wait for segments")

    monkeypatch.setattr("npexplore.designs.base.Design.simulate", stuck)
    monkeypatch.setattr("npexplore.designs.base.Design.estimate", stuck)
    e = explain(DESIGN, LOAD, elasticities=False)
    assert e.best is e.predictions["queueing"]
    assert e.refused == dict.fromkeys(("simulated", "estimate"), "deadlock: 16 tokens wait for segments")
    assert "No answer by simulated: deadlock" in str(e)


def test_an_impossible_machine_is_an_error_not_a_refusal():
    with pytest.raises(InputError, match="scratchpad"):
        explain(DESIGN.with_(scheme="fcb_tb", segment_bytes=4096), LOAD)


def test_assumptions_are_what_the_machine_reads_and_the_user_left():
    kinds = {a.name: a.kind for a in explain(DESIGN, npexplore.workload(mix="amp"), elasticities=False).assumptions}
    assert kinds["placement"] == "assumption"
    assert kinds["hash_ns"] == "fitted"
    assert kinds["amp"] == "workload"
    assert "banks" not in kinds  # a knob
    assert "full_tail" not in kinds  # not read by the base scheme
    chosen = explain(DESIGN.with_(hash_ns=10.0), LOAD, elasticities=False)
    assert "hash_ns" not in {a.name for a in chosen.assumptions}


# ---- words


def test_the_words_name_what_binds_the_headroom_and_what_helps(hash_bound):
    design = DESIGN.with_(hash_ns=2000.0)
    e = explain(design, LOAD, elasticities=False)
    e = dataclasses.replace(e, sensitivity=hash_bound)
    text = str(e)
    answer, _, advice = text.splitlines()[:3]
    assert advice == "Relieve hash, which binds; without it threads would allow 2,596 Mb/s."
    assert answer.startswith("ixp2400 (hash_ns=2000.0) forwards 64 bytes at 256 ")
    assert "What binds is hash, busy 100 % of the time." in text
    assert "The ceiling is 256 Mb/s (hash), of which 100 % is reached." in text
    assert "for one per cent more of each (elasticity): hash_ns (-1.00 %)." in text
    assert text == repr(e) == in_words(e)
    assert "<table>" in e._repr_html_()
    assert "hash_ns" in e._repr_html_()


def test_the_words_tell_a_full_limit_from_the_server_behind_it():
    text = str(explain(DESIGN, npexplore.workload(mix="amp"), elasticities=False))
    assert "What binds is dram.bus" in text
    assert "dram.slots is occupied 100 % of the time, " in text
    assert "by packets that wait for another resource" in text


def test_the_words_name_many_full_servers_alike_in_one_sentence():
    text = str(explain(npexplore.design("ixp1200").with_(rules=100), elasticities=False))
    assert text.count("by packets that wait for another resource") <= 2
    assert "from threads.rx0 to threads.rx_gbe are occupied 100 % of the time, " in text


def test_the_words_for_an_offered_load():
    e = explain(DESIGN, LOAD.with_arrivals("poisson", 1e6), elasticities=False)
    assert "What binds is the offered load" in str(e)
    assert "6.67 times this load" in str(e)
    over = explain(DESIGN, LOAD.with_arrivals("poisson", 20e6), elasticities=False)
    lost, done = over.best.drops["receive"], over.best.about["packets"]
    assert f"Of {lost + done:,} packets {lost:,} are dropped" in str(over)


def test_the_words_when_nothing_helps_and_when_threads_bind():
    e = explain(DESIGN.with_(threads=1), LOAD, elasticities=False)
    assert "What binds is the number of threads: a single one hides no more" in str(e)
    idle = dataclasses.replace(e, sensitivity=Sensitivity())
    assert "No single parameter raises the throughput" in str(idle)


def test_the_words_say_how_much_of_a_capture_was_played():
    load = Workload("long", {"packet_bytes": np.repeat([40, 1500], 500)})
    text = str(explain(DESIGN, load, packets=400, elasticities=False))
    assert "played the first 400 of 1,000 packets (mean length 40 bytes, of all 770)." in text
    assert "played the first" not in str(explain(DESIGN, load, packets=1000, elasticities=False))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (rate(5.1e9), "5,100 Mb/s"),
        (rate(5.1e9, 1.234e7), "5,100 ± 12 Mb/s"),
        (rate(4.1e9, 1.049e8), "4,100 ± 105 Mb/s"),
        (rate(32587.0, 3e4), "32.59 ± 30 kb/s"),
        (rate(32587.0, 9e4), "32.59 kb/s"),
        (share(0.0046), "0.46 %"),
        (share(0.972), "97 %"),
        (short(155000.0, 3), "155,000"),
    ],
)
def test_numbers_as_people_write_them(text, expected):
    assert text == expected


def test_the_words_say_why_more_than_the_ceiling_is_reached():
    """Ports of 100 Mbit at a third of their load and one of 1 Gbit that is overloaded: they do not lose alike."""
    e = explain(npexplore.design("ixp1200").with_(load=0.37), elasticities=False)
    assert e.headroom.reached > 1.1
    assert "for packets as they come" in str(e)
    assert "lost more often, so 1" in str(e)


def test_the_words_stand_where_no_packet_is_finished():
    """A window of 100 us of a packet a second: nothing comes, and nothing can be compared with it."""
    slow = npexplore.workload(packet_bytes=64, arrivals="poisson", rate=1.0)
    e = explain(npexplore.design("gorilla"), slow, elasticities=False)
    assert e.best.rate_pps == 0
    assert "(no packet was finished while the simulation measured)" in str(e)


def test_times_of_a_run_in_another_mode_are_not_told_as_the_mean():
    """The estimate's latency is a mean over runs; its breakdown is of one run, which may be in another mode."""
    found = explain(DESIGN, LOAD, packets=500, elasticities=False)
    broken = found.best.breakdown
    assert f"A packet takes {short(broken.latency_s * 1e9, 3)} ns: " in in_words(found)
    slower = found.best.latency_s._replace(mean=1.3 * broken.latency_s)
    names = [name for name, p in found.predictions.items() if p is found.best]
    predictions = found.predictions | {name: dataclasses.replace(found.best, latency_s=slower) for name in names}
    told = in_words(dataclasses.replace(found, predictions=predictions))
    assert f"A packet takes {short(1.3e9 * broken.latency_s, 3)} ns; in the simulation whose times follow, " in told


def test_a_packet_whose_work_is_all_forked_takes_no_time_of_its_own():
    def program(m, packet):
        with m.fork():
            m.table.serve()

    machine = Machine("aside", Pool("thread", 4, program), Ingress("receive"), {"table": FifoServer("table", 1e-7)})
    design = Design("aside", Parameters(MachineFile(name="aside")), lambda _: machine)
    told = in_words(explain(design, LOAD))
    assert "A packet takes no time of its own" in told
    assert "meeting nobody" not in told
