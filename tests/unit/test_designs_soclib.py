"""The SoCLIB NPU's knobs do what they say, and its quantities read curves as they should."""

import numpy as np
import pytest

from npexplore.designs import design
from npexplore.designs.soclib import ways
from npexplore.designs.soclib.design import bits_per_cycle, processors_of_stages, stages, words_read
from npexplore.designs.soclib.unit import alone_cycles, element_cycles, memory_cycles, packet_words
from npexplore.errors import ModelError
from npexplore.golden.elements import Graph
from npexplore.packets.frames import read_frames
from npexplore.paths import share
from npexplore.study.checking.quantities import MissingError
from npexplore.study.checking.quantities.soclib import collapse, knee, peak

NPU = design("soclib")


def rate(**knobs):
    at = NPU.with_(**knobs)
    return bits_per_cycle(at.parameters, at.simulate())


def test_words_are_counted_at_the_output_engines():
    at = NPU.with_(processors=3, memory="distributed")
    answer = at.simulate()
    whole = answer.about["packets"] * packet_words(at.parameters)
    assert whole <= words_read(at.parameters, answer) + 1e-6 < whole + 3 * 14 + 1


def test_boot_is_not_measured_and_not_forgotten():
    at = NPU.with_(boot_cycles=1_000_000)
    assert at.simulate().about["simulated_s"] == pytest.approx(1_000_000 * 1e-8)
    assert bits_per_cycle(at.parameters, at.simulate()) == pytest.approx(rate() / 1.984, rel=0.03)
    with pytest.raises(ModelError, match="boot of 2000000 cycles must end within the window of 2000000"):
        NPU.with_(boot_cycles=2_000_000).machine()


def test_more_banks_lift_the_shared_memory():
    one, two, four = (rate(processors=16, banks=banks) for banks in (1, 2, 4))
    assert 1.6 * one < two < 2.1 * one
    assert four > 1.2 * two


def test_the_clock_changes_nothing_in_cycles():
    slow, fast = (rate(processors=8, clock_mhz=mhz) for mhz in (50, 200))
    assert slow == pytest.approx(fast, rel=1e-3)


def test_packets_a_lock_and_lock_free_queues_help_where_the_lock_is_full():
    usual, batched, free = (rate(processors=34, memory="distributed", **k) for k in
                            ({}, {"packets_per_lock": 4}, {"lock": "none"}))  # fmt: skip
    assert usual < 0.5 * batched
    assert batched < free * 1.001


def test_longer_packets_have_more_words():
    long = NPU.with_(packet_bytes=1500).parameters
    assert packet_words(long) == 375
    each = long.egress_word_cycles + memory_cycles(long)  # out, and in
    assert alone_cycles(long) - alone_cycles(NPU.parameters) == (375 - 14) * each


def test_the_table_is_the_ledgers():
    assert sum(element_cycles(NPU.parameters).values()) == 112_502


def test_peak_knee_and_collapse_of_a_curve():
    curve = [(1, 1.0), (2, 2.0), (3, 2.9), (4, 3.0), (5, 2.0), (6, 1.4), (7, 1.0)]
    assert peak(curve) == (4, 3.0)
    assert knee(curve) == 3
    assert collapse(curve) == 6
    with pytest.raises(MissingError):
        collapse(curve[:5])


def test_a_pipeline_pays_for_its_fifos_and_its_slowest_thread():
    """Three threads, cut behind acquisition and before extraction; each FIFO is a put and a get under the lock."""
    at = NPU.with_(software="pipeline", memory="distributed", processors=3, from_switch=0)
    assert [pool.count for pool in at.machine().pools] == [1, 1, 1]
    slowest = max(stages(at.parameters)) / at.parameters.bursts
    alone = rate(memory="distributed", from_switch=0)
    piped = bits_per_cycle(at.parameters, at.simulate())
    assert piped == pytest.approx(alone / slowest, rel=0.08)
    assert piped < 0.75 * rate(memory="distributed", from_switch=0, processors=3)
    with pytest.raises(ModelError, match="a pipeline of 3 threads needs as many processors, got 2"):
        at.with_(processors=2).machine()


def test_processors_go_where_the_work_is():
    counts = processors_of_stages(NPU.with_(software="pipeline", processors=24).parameters)
    assert sum(counts) == 24
    assert counts == [7, 12, 5]


# ---- packets, engines, segments


def test_drawn_packets_go_the_two_ways_of_a_unit():
    """From the link to the matrix (all elements), and from the matrix to the link (half of them), in turn."""
    columns = ways.traffic(NPU.parameters).columns
    assert columns["enters"][:4].tolist() == [1, 0, 1, 0]
    assert columns["leaves"][:4].tolist() == [0, 1, 0, 1]
    assert columns["bursts"][:4].tolist() == [12, 24, 12, 24]
    assert set(columns["words"]) == {14}
    only = ways.traffic(NPU.with_(from_switch=0.25).parameters).columns["enters"]
    assert only.mean() == 0.25


def test_a_capture_goes_its_own_ways():
    """ARP ends at the router itself after two elements; what goes on has its own length at the output engine."""
    at = ways.of_capture(NPU, share("data", "captures", "zeek_wikipedia.pcap"))
    columns = at.workload().columns
    graph = Graph.load(share(*ways.GRAPH))
    gone = [graph.run("eth0", frame)[0] for _, frame in read_frames(share("data", "captures", "zeek_wikipedia.pcap"))]
    on = np.array([one.exit == "switch" for one in gone])
    assert 0 < on.sum() <= len(on) == len(columns["words"])
    assert (columns["bursts"][on] >= 23).all()
    assert (columns["words"][on] == -(-columns["packet_bytes"][on] // 4)).all()
    slow, quick = (one.with_(processors=4, memory="distributed", window_cycles=8_000_000) for one in (NPU, at))
    assert words_read(quick.parameters, quick.simulate()) > 2 * words_read(slow.parameters, slow.simulate())


def test_packets_in_an_order_of_chance_change_with_the_seed():
    turn, chance = (NPU.with_(processors=8, memory="distributed", order=order) for order in ("in_turn", "random"))
    rates = [[bits_per_cycle(at.parameters, at.simulate(seed=seed)) for seed in (1, 2)] for at in (turn, chance)]
    assert rates[0][0] == rates[0][1]
    assert rates[1][0] != rates[1][1]


@pytest.mark.parametrize("rate", [0.04, 0.2])
def test_a_finite_input_is_forwarded_or_dropped(rate):
    """8 processors bear 0.087 bit/cycle: less comes through whole, of more the rest is dropped at the engines."""
    at = NPU.with_(processors=8, memory="distributed", input_bits_per_cycle=rate)
    answer = at.simulate()
    out = bits_per_cycle(at.parameters, answer) * 2_000_000 / 1_984_000
    assert out == pytest.approx(min(rate, 0.0868), rel=0.03)
    assert (sum(answer.drops.values()) > 0) == (rate > 0.1)


def test_input_engines_write_the_words_of_their_own_side():
    at = NPU.with_(processors=8, memory="distributed", from_switch=0.25, window_cycles=20_000_000)
    answer = at.simulate()
    cycles = answer.about["packets"] * 14 * memory_cycles(at.parameters) / 2 / 19_984_000
    assert answer.utilization["ingress"].busy == pytest.approx(cycles, rel=0.01)


def test_the_code_is_a_shared_segment():
    usual, missing = (NPU.with_(processors=30, memory="distributed", lock="none", code_misses=m) for m in (24, 240))
    assert usual.simulate().utilization["code"].busy == pytest.approx(30 * 18 * 10 / 40_000, rel=0.05)
    assert missing.simulate().utilization["code"].busy > 0.99
