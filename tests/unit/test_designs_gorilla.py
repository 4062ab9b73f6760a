"""Gorilla: knobs do what they say, against sums by hand; tables, area and virtual routers add up."""

from types import SimpleNamespace

import numpy as np
import pytest

from npexplore.designs import design
from npexplore.designs.gorilla import tables, traffic
from npexplore.designs.gorilla.design import delays, issue_cycles, residence_cycles
from npexplore.designs.gorilla.steps import PROTOCOLS
from npexplore.designs.gorilla.traffic import MIXES, fewest_and_most_calls, header_words, lowered, traces_of
from npexplore.errors import InputError, ModelError
from npexplore.golden.lookup import Trie20_4_8
from npexplore.golden.reasons import Reason
from npexplore.ledger import facts
from npexplore.study.papers.gorilla import area, channels, storage, storage6, virtual_routers

NP = design("gorilla")
P = NP.parameters
SHORT = {"boot_us": 20, "window_us": 30}


def rate(**knobs):
    return NP.with_(**{**SHORT, **knobs}).simulate().rate_pps / 1e6


# ---- the program


@pytest.mark.parametrize("proto", PROTOCOLS)
def test_programs_have_the_steps_that_the_paper_states(proto):
    assert area.steps_of((proto,)) == facts().value(f"gorilla.steps.{proto}")
    assert area.steps_of((proto,), True) == facts().value(f"gorilla.steps.{proto}") + facts().value(
        "gorilla.steps.fc.extra"
    )


@pytest.mark.parametrize("labels", [1, 2, 3, 4])
def test_a_label_takes_three_steps_and_a_lookup(labels):
    (path,) = lowered(NP.with_(proto=f"mpls_{labels}").parameters).paths
    assert len(path.steps) == 3 + 3 * labels
    assert path.calls() == 1 + labels


def test_calls_are_one_to_six():
    assert fewest_and_most_calls() == (1, 6)


@pytest.mark.parametrize("mix", MIXES)
def test_all_traffic_is_forwarded(mix):
    assert all(trace.context.sent is not None for trace in traces_of(mix))


def test_issue_and_residence_by_hand():
    assert issue_cycles(P, 8) == pytest.approx(16 + P.overhead_cycles)
    issue, stay = residence_cycles(P)
    assert (issue, stay - issue) == pytest.approx((16 + P.overhead_cycles, 1 + 1 + 12))
    four = NP.with_(proto="mpls_4", flow_counting="on").parameters
    assert residence_cycles(four)[0] == pytest.approx(9600 / 195.7, rel=1e-4)
    assert delays(NP.with_(lookup_delay=128).parameters)["lookup6"] == 256


@pytest.mark.parametrize(("protocols", "words"), [("all", 4), ("ipv4", 3)])
def test_headers_and_their_words(protocols, words):
    """Metadata and Ethernet with IPv6, 58 bytes, are four words; with IPv4, 38, they are three."""
    assert header_words(protocols) == words
    spared = 2 * (4 - words) * P.word_cycles
    assert issue_cycles(P.with_(protocols=protocols), 8) == pytest.approx(16 + P.overhead_cycles - spared)


def test_a_processor_for_ipv4_takes_nothing_else():
    with pytest.raises(ModelError, match="proto must be ipv4, got 'mpls_1'"):
        NP.with_(protocols="ipv4", proto="mpls_1").machine()


# ---- the machine


def test_engines_bound_the_rate():
    """6400 cycles a microsecond over 33.05 cycles a packet; two threads do not reach it."""
    assert rate(engines=4) == pytest.approx(6400 / 33.054, rel=1e-2)
    assert rate(engines=4, threads=1) == pytest.approx(6400 / 47.054, rel=2e-2)


def test_memory_bounds_the_rate_with_fair_arbiters():
    """Nine reads a packet: four channels of 300 M reads serve 133.3 Mpps."""
    counted = rate(flow_counting="on", local_arbiter="fair")
    assert counted == pytest.approx(4 * 300 / 9, rel=1e-2)
    assert rate(flow_counting="on", channels=8, local_arbiter="fair") == pytest.approx(200, rel=5e-3)
    assert rate(flow_counting="on", memory="qdriiplus", local_arbiter="fair") == pytest.approx(200, rel=5e-3)
    assert rate(flow_counting="on", memories="internal") == pytest.approx(200, rel=5e-3)  # six channels, all busy


def test_strict_turns_lose_where_stalls_differ():
    slow = {"clusters": 8, "engines": 2, "threads": 8, "lookup_delay": 128, "rate_mpps": 100}
    on_stall, ready, turns = (rate(**slow, scheduler=s) for s in ("ready_on_stall", "ready", "round_robin"))
    assert on_stall == pytest.approx(1600 / 33.054, rel=1e-2)
    assert turns < 0.8 * ready < ready <= on_stall * 1.005


def test_a_thread_that_keeps_its_engine_makes_threads_useless():
    one, four = (rate(clusters=4, threads=t, scheduler="packet_end") for t in (1, 4))
    assert one == pytest.approx(2400 / 47.054, rel=2e-2)
    assert four == pytest.approx(one, rel=2e-2)
    # with edges of clocks to wait for, the engine waits too
    anywhere = NP.with_(**SHORT, scheduler="packet_end", balancing="ideal", rate_mpps=0, crossing="free")
    assert anywhere.simulate().rate_pps == pytest.approx(9600e6 / 47.054, rel=2e-2)
    assert anywhere.bounds().rate_pps == pytest.approx(9600e6 / 47.054, rel=1e-3)


def test_overload_is_dropped_at_the_receive_side_or_at_the_fifos():
    waits = NP.with_(**SHORT, engines=3).simulate()
    assert waits.drops["receive"] > 0
    drops = NP.with_(**SHORT, engines=3, when_full="drop", reorder="off").simulate()
    assert drops.drops["fifo"] > 0
    assert drops.queue["fifo"].longest <= P.fifo_packets
    with pytest.raises(ModelError, match="when_full=drop needs reorder=off"):
        NP.with_(when_full="drop").machine()


def test_headers_wait_to_leave_in_order():
    answer = NP.with_(**SHORT, proto="mpls_1_ipv4").simulate()
    assert 0 < answer.utilization["order"].busy < 1
    few = NP.with_(**SHORT, reorder_places=16).simulate()
    assert few.rate_pps < 0.5 * answer.rate_pps  # sixteen headers inside at a time


def words_of(made, answer):
    """Mean words in the body buffer, and mean words of a body."""
    full = made.parameters.body_kib * 64
    return answer.utilization["bodies"].busy * full, made.workload().columns["body_words"].mean()


@pytest.mark.parametrize(("frames", "mpps"), [("minimum", 200), ("imix", 40), ("maximum", 8)])
def test_bodies_wait_as_long_as_their_headers(frames, mpps):
    """Little: what the buffer has is its rate times what a packet spends inside, here seen at the exit's places."""
    made = NP.with_(**SHORT, frames=frames, rate_mpps=mpps)
    answer = made.simulate()
    found, each = words_of(made, answer)
    inside = answer.utilization["order"].busy * P.reorder_places * each
    span = -(-{"minimum": 64, "imix": 360, "maximum": 1518}[frames] // 64) * 10e-9 / P.lanes
    moved = 2 * span * answer.rate_pps * each  # through the pre- and the post-processor
    assert inside <= found * 1.01
    assert found == pytest.approx(inside + moved, rel=0.2)


def test_bodies_by_latency_where_nothing_waits_to_leave():
    made = NP.with_(**SHORT, reorder="off")
    answer = made.simulate()
    found, each = words_of(made, answer)
    assert found == pytest.approx(answer.rate_pps * answer.latency_s.mean * each, rel=0.02)


def test_a_small_body_buffer_holds_packets_back():
    """1518 bytes have a body of 93 words: 4 KiB are room for two, 2 KiB for one."""
    usual = {**SHORT, "window_us": 60, "frames": "maximum", "rate_mpps": 8}
    two, one = (NP.with_(**usual, body_kib=kib).simulate() for kib in (4, 2))
    assert two.rate_pps == pytest.approx(2 * one.rate_pps, rel=0.1)
    assert one.drops["receive"] > two.drops["receive"] > 0
    assert words_of(NP.with_(**usual, body_kib=2), one)[0] <= 93


def test_a_static_choice_of_clusters_holds_back_mixed_traffic_and_the_shortest_line_does_not():
    knobs = {"engines": 4, "proto": "mpls_1_ipv4", "rate_mpps": 220, "boot_us": 40, "window_us": 100}
    static, dynamic = rate(**knobs), rate(**knobs, balancing="shortest")
    slow, quick = (rate(**knobs | {"proto": proto}) for proto in ("ipv4", "mpls_1"))
    assert slow < static < 0.995 * (slow + quick) / 2
    assert dynamic > 1.004 * static


def test_labels_that_the_clusters_table_misses_read_the_memory():
    warm, cold = (NP.with_(proto="mpls_4", label_tables=how).parameters for how in ("warm", "cold"))
    reads = [sum(trace.used()["reads"] for trace in _traces(p)) for p in (warm, cold)]
    assert reads[0] == 0 < reads[1]
    assert rate(proto="mpls_4", label_tables="cold") < rate(proto="mpls_4")


def _traces(p):
    from npexplore.designs.gorilla.traffic import traces

    return traces(p)


def test_exceptions_and_control_packets_take_their_own_paths():
    paths = lowered(NP.with_(exceptions=0.1, controls=0.2).parameters).paths
    ends = {path.steps[-1]: path.share for path in paths}
    assert ends["control"] == pytest.approx(0.2, abs=0.01)
    assert ends["exception"] == pytest.approx(0.08, abs=0.03)
    assert NP.with_(**SHORT, controls=0.2, update_routes=3).simulate().utilization["qdr_write"].busy > 0.2


def test_table_updates_hold_packets_back_where_the_channels_cannot_write_more():
    updates = NP.with_(**SHORT, controls=0.05, update_routes=60)
    words = lowered(updates.parameters).columns["update_words"].mean()
    assert 0.05 * 3 * 60 < words < 0.05 * 6 * 60  # a word a level, and what a node had before
    assert updates.bounds().rate_pps == pytest.approx(1200e6 / words, rel=1e-3)
    assert 0.5 * 1200e6 / words < updates.simulate().rate_pps <= 1.01 * 1200e6 / words
    assert NP.with_(**SHORT, controls=1.0, update_routes=64).simulate().rate_pps < 7e6


def test_an_update_changes_what_packets_find_behind_it():
    """Half of the routes withdrawn by one control packet are there again after the next one."""
    at = NP.with_(controls=0.5, update_routes=32)
    ran = traffic.traces(at.parameters)
    assert [trace.context.update_words for trace in ran] == lowered(at.parameters).columns["update_words"].tolist()
    missing, lost = False, {False: 0, True: 0}
    for trace in ran:
        if trace.context.left_to_control:
            missing = not missing
        else:
            lost[missing] += trace.context.reason == Reason.NO_ROUTE
    assert lost[False] == 0
    assert lost[True] == pytest.approx(60 / 2, abs=12)


@pytest.mark.parametrize(("length", "words"), [(16, 16), (18, 4), (20, 1), (22, 4)])
def test_words_that_an_update_writes_by_hand(length, words):
    """A prefix of up to 20 bits fills its entries of level 1; one of 22 has four of the sixteen of a node."""
    trie = Trie20_4_8()
    trie.insert(f"77.64.0.0/{length}", 1)
    made = tables.changes(SimpleNamespace(ipv4=SimpleNamespace(lpm=trie)), 1)
    withdrawn, announced = next(made), next(made)
    assert withdrawn == announced == words + (length > 20)


@pytest.mark.parametrize("entries", [8, 32, 64])
def test_caches_hit_as_their_size_says(entries):
    """Each of 64 routes is as likely: an LRU of so many entries hits so many of 64."""
    share = traffic.cached_share(NP.with_(cache_entries=entries, flow_counting="on").parameters)
    assert share == pytest.approx(entries / 64, abs=0.06)


def test_a_cache_keeps_what_was_used_last_in_its_own_cluster():
    caches = tables.RouteCaches(2, 2)
    assert [caches.holds(a) for a in (1, 2, 1, 3, 2, 3)] == [False, False, True, False, False, True]
    caches.cluster = 1
    assert not caches.holds(3)


def test_cached_routes_take_no_reads():
    usual, cached = (NP.with_(**SHORT, flow_counting="on", cache_entries=n) for n in (0, 64))
    assert cached.simulate().rate_pps > 1.4 * usual.simulate().rate_pps
    assert cached.bounds().rate_pps >= 0.995 * cached.simulate().rate_pps


def test_what_goes_through_waits_for_packets_although_some_engines_are_always_busy():
    """Headers go to the first free threads: some engines never rest, while all together are busy for 73 %."""
    answer = NP.with_(**SHORT, flow_counting="on", channels=8).simulate()
    assert answer.rate_pps == pytest.approx(200e6, rel=2e-3)
    assert answer.bottleneck == "arrivals"
    assert NP.with_(**SHORT, engines=4).simulate().bottleneck == "engine"


def test_one_pool_is_what_queueing_answers():
    ideal = NP.with_(**SHORT, balancing="ideal", rate_mpps=0)
    bound, found = ideal.bounds().rate_pps, ideal.queueing().rate_pps
    simulated = ideal.simulate().rate_pps
    assert 0.7 * bound < found <= simulated <= 1.005 * bound


# ---- tables


def test_synthetic_tables_have_the_published_second_level():
    """Calibrated to one collector, within 3 % of the other; the rest of the table follows exactly."""
    rng = np.random.default_rng(7)
    for table, entries in (("rrc00", 1_053_584), ("rrc02", 865_104)):
        prefixes = int(facts().value(f"gorilla.fig6.{table}.prefixes"))
        found = storage.storage_of(*storage.synthetic_routes(prefixes, P.sites_share, rng))
        assert found.prefixes == pytest.approx(prefixes, rel=0.01)
        assert found.level2_entries == pytest.approx(entries, rel=0.03)
        assert found.level2_entries == pytest.approx(storage.level2_entries(prefixes, P.sites_share), rel=0.01)


@pytest.mark.parametrize(("prefixes", "blocks"), [row for row in storage6.measured() if row[0] >= 5000])
def test_synthetic_ipv6_tables_have_the_second_level_of_real_ones(prefixes, blocks):
    """A full table and random parts of it; two of the sizes are fitted. A table of 2,500 prefixes is 4 % off."""
    formula = storage6.level2_entries6(P, prefixes)
    assert formula == pytest.approx(4096 * blocks, rel=0.03)
    value, length = storage6.synthetic_routes6(P, prefixes, np.random.default_rng(3))
    assert len(np.unique(np.stack([value, length], axis=1), axis=0)) == prefixes
    assert 4096 * len(np.unique(value >> np.uint64(44))) == pytest.approx(4096 * blocks, rel=0.03)


def test_the_trie_counts_what_a_synthetic_ipv6_table_has():
    value, length = storage6.synthetic_routes6(P, 20_000, np.random.default_rng(3))
    found = storage6.storage_of6(value, length)
    assert found.prefixes == 20_000
    assert found.level_entries[1] == pytest.approx(storage6.level2_entries6(P, 20_000), rel=0.02)
    with pytest.raises(InputError, match="must be 1 to 1000000, got 0"):
        storage6.synthetic_routes6(P, 0, np.random.default_rng(1))


def test_the_share_of_sites_is_the_fit():
    f = facts()
    fitted = storage.fitted_share(f.value("gorilla.fig6.rrc00.prefixes"), f.value("gorilla.fig6.rrc00.level2"))
    assert pytest.approx(fitted, rel=1e-4) == P.sites_share
    with pytest.raises(InputError, match="must have room for"):
        storage.synthetic_routes(100, 0.95, np.random.default_rng(1))


def test_area_is_the_fit():
    f = facts()
    cells = [f.value(f"gorilla.fig12.{key}") * 100 for key in ("v6hx380t.e4.t1", "v6hx380t.e4.t4", "v7855t.e4.t4")]
    assert area.fitted_to(*cells) == pytest.approx((P.lut_engine, P.lut_thread, P.lut_v7_ratio), rel=1e-4)


def test_channels_of_any_mix():
    half = {"ipv4": 0.5, "mpls": 0.5}
    assert channels.reads_of_mix(half, "lu") == 1.5
    assert channels.channels_needed(P, half, "lufc", 200e6) == 4
    assert channels.share_without_memory(P, "ipv4", "lufc", 200e6) == pytest.approx(1 / 3)
    with pytest.raises(InputError, match="must add up to 1"):
        channels.reads_of_mix({"ipv4": 0.5}, "lu")


def test_virtual_routers():
    """Every method serves all routers; a group is large enough; protocol-based is never worse than isolated."""
    for configuration in virtual_routers.CONFIGURATIONS.value:
        found = {m: virtual_routers.consolidate(NP, configuration, m) for m in virtual_routers.METHODS}
        for parts in found.values():
            assert sum(sum(one.group.counts) for one in parts) == 10
            assert sum(one.group.rate_pps for one in parts) == pytest.approx(200e6)
        assert virtual_routers.area(found["protocol"]) <= virtual_routers.area(found["isolated"]) + 1e-12
    with pytest.raises(InputError, match=r"must be like 8\.1\.1"):
        virtual_routers.routers("8.1", 1e6)


def test_tokens_of_the_memorys_clock_wait_for_edges_and_keep_its_rate():
    """Three reads a core cycle and channel: a packet alone is later by its edges, a full memory is as fast."""
    lone = {**SHORT, "rate_mpps": 1.0, "addresses": "deep"}
    free, tokens = (NP.with_(**lone, crossing=kind).simulate().latency_s.mean * 1e9 for kind in ("free", "tokens"))
    assert 0 < tokens - free < 20
    full = {"flow_counting": "on", "local_arbiter": "fair"}
    free, tokens = (rate(**full, crossing=kind) for kind in ("free", "tokens"))
    assert tokens == pytest.approx(free, rel=0.02)
    assert NP.with_(**full, crossing="tokens").bounds().rate_pps == pytest.approx(1200e6 / 9, rel=1e-3)


def test_entries_of_the_last_level_share_words_of_two():
    before, after = np.arange(6), np.array([9, 9, 2, 9, 4, 5, 6])  # 0, 1 and 3 differ, 6 is new
    assert [tables._words(before, after, level) for level in (0, 2)] == [4, 3]
