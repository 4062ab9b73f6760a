"""Counters in two levels lose no packet and stay small; a compressed level answers as the level itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npexplore.designs import design
from npexplore.errors import InputError
from npexplore.golden.lookup import Trie20_4_8
from npexplore.study.papers.gorilla import beyond, channels, storage

NP = design("gorilla")
P = NP.parameters


class LargestFirst:
    """Packet counters in two levels; each `every`-th packet flushes the largest small counter."""

    def __init__(self, flows, every):
        self.small, self.memory = np.zeros(flows, np.int64), np.zeros(flows, np.int64)
        self.every, self.packets, self.largest = every, 0, 0

    def count(self, flow):
        self.small[flow] += 1
        self.largest = max(self.largest, int(self.small[flow]))
        self.packets += 1
        if self.packets % self.every == 0:
            most = self.small.argmax()
            self.memory[most] += self.small[most]
            self.small[most] = 0


@given(st.integers(1, 4), st.integers(1, 4), st.data())
def test_counters_are_exact_and_stay_below_the_bound(flows, every, data):
    counters = LargestFirst(flows, every)
    asked = data.draw(st.lists(st.integers(0, flows - 1), max_size=200))
    count_all(counters, asked)


def test_two_packets_before_a_flush_may_be_of_the_largest_counter():
    counters = LargestFirst(3, 2)
    count_all(counters, [0, 1, 2, 0, 0, 2, 0, 1, 1, 1])
    assert counters.largest == 4


def count_all(counters, asked):
    """Count, and hold the counters against what was asked and against the bound."""
    flows, every = len(counters.small), counters.every
    for flow in asked:
        counters.count(flow)
    assert (counters.small + counters.memory).tolist() == [asked.count(flow) for flow in range(flows)]
    assert counters.largest <= beyond.largest_small(flows, every)
    assert counters.largest < 1 << beyond.small_bits(flows, every)


@pytest.mark.parametrize(("flows", "every"), [(64, 2), (64, 4), (500, 4), (500, 16)])
def test_an_enemy_fills_the_counters_nearly_to_the_bound(flows, every):
    """Counting only what has not been flushed lifts all others together: the bound is not idle."""
    counters = LargestFirst(flows, every)
    alive = list(range(flows))
    while alive:
        for flow in list(alive):
            counters.count(flow)
        alive = [flow for flow in alive if counters.small[flow]]
    assert counters.largest <= beyond.largest_small(flows, every)
    assert counters.largest >= 0.5 * beyond.largest_small(flows, every)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 90)), min_size=1, max_size=20))
def test_a_compressed_level_is_the_level(runs):
    level = np.concatenate([np.full(count, value) for value, count in runs])
    made = beyond.CompressedLevel.of(level)
    assert [made.entry(at) for at in range(len(level))] == level.tolist()
    assert len(made.runs) <= len(runs)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_first_level_of_a_table(seed):
    rng = np.random.default_rng(seed)
    value, length = storage.synthetic_routes(3000, P.sites_share, rng)
    trie = Trie20_4_8.from_columns(value, length, rng.integers(0, 32, len(value)).astype(np.int32))
    made = beyond.compressed_first_level(trie)
    for at in rng.integers(0, 1 << 20, 50).tolist():
        assert made.entry(at) == trie.entry(0, at)
    assert made.bits < 18 << 20


def test_reads_and_channels():
    assert beyond.reads_of(P, "ipv4", "lufc") == channels.reads("ipv4", "lufc") == 9
    assert beyond.reads_of(P.with_(counter_flush=16), "ipv4", "lufc") == 6 + 3 / 16
    assert beyond.reads_of(P.with_(counter_flush=16, first_level="chip"), "ipv6", "lufc") == 10 + 3 / 16
    assert beyond.reads_of(P.with_(first_level="chip"), "ipv4", "lu") == 2
    assert beyond.reads_of(P.with_(first_level="chip"), "mpls", "lu") == 0
    assert beyond.reads_of(P.with_(cache_entries=32), "ipv4", "lufc") == pytest.approx(6, abs=0.4)
    table = beyond.budget(P, 200e6).set_index(["traffic", "built"])
    assert table.loc[("ipv4", "as built"), "channels"] == pytest.approx(6)
    assert table.loc[("ipv4", "both"), "channels"] < 3 < 4 < table.loc[("ipv4", "low-order counters"), "channels"]


@pytest.mark.parametrize(
    ("knobs", "mpps"),
    [({"counter_flush": 16}, 1200 / 6.1875), ({"first_level": "chip"}, 1200 / 7), ({"cache_entries": 16}, None)],
)
def test_the_machine_takes_as_many_reads_as_the_budget_says(knobs, mpps):
    at = NP.with_(boot_us=20, window_us=30, flow_counting="on", local_arbiter="fair", **knobs)
    mpps = mpps or 1200 / beyond.reads_of(at.parameters, "ipv4", "lufc")
    assert at.bounds().rate_pps == pytest.approx(mpps * 1e6, rel=1e-3)
    assert at.simulate().rate_pps == pytest.approx(mpps * 1e6, rel=0.015)


def test_with_both_four_channels_forward_200_mpps_with_counting():
    at = NP.with_(boot_us=20, window_us=30, flow_counting="on", counter_flush=16, first_level="chip")
    assert at.simulate().rate_pps == pytest.approx(200e6, rel=5e-3)


def test_what_cannot_be_is_told():
    with pytest.raises(InputError, match="at least 1 entry"):
        beyond.CompressedLevel.of(np.empty(0, np.int64))
    with pytest.raises(InputError, match="level of a trie must be 0 to 2, got 3"):
        Trie20_4_8().level(3)
