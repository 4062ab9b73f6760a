"""Caches: the kernel is the plain one, stack distances are exact LRU, closed forms of the literature come out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.caches import cyclic_miss, plain_levels

from npexplore._kernels.caches import replay
from npexplore.golden.touches import Touches, ring
from npexplore.machine.caches import Caches, Level, set_distances
from npexplore.solve.queueing.caches import hit_chances


def lone(size_lines, ways, **more):
    return Caches((Level("only", size_lines * 64, ways, True),), **more)


def reads(lines, core=0):
    return Touches.of(np.arange(len(lines)), 64 * np.asarray(lines, np.int64), core)


GEOMETRY = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=3)


@settings(max_examples=150, deadline=None)
@given(st.data(), GEOMETRY, st.integers(1, 3), st.booleans(), st.booleans())
def test_the_kernel_is_the_plain_cache(data, geometry, cores, inclusive, random):
    """Cores and devices that read and write, private and shared levels, LRU and random replacement."""
    access = st.tuples(st.integers(-1, cores - 1), st.integers(0, 11), st.booleans())
    accesses = data.draw(st.lists(access, max_size=80))
    shared = [data.draw(st.booleans()) for _ in geometry[1:]] + [True]
    levels = [(*one, common) for one, common in zip(geometry, shared, strict=True)]
    device_ways = data.draw(st.integers(0, geometry[-1][1]))
    draws = data.draw(st.lists(st.integers(0, 99), min_size=len(accesses), max_size=len(accesses)))
    rows, start = [], 0
    for sets, ways, common in levels:
        units = 1 if common else cores
        rows.append((sets, ways, units, start))
        start += sets * ways * units
    core, line, write = (np.array([a[k] for a in accesses], np.int64) for k in range(3))
    got = replay(
        core, line, write.astype(bool), np.array(rows, np.int64), inclusive, device_ways,
        np.array(draws if random else [], np.int64),
    )  # fmt: skip
    assert got.tolist() == plain_levels(accesses, levels, cores, inclusive, device_ways, draws if random else None)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=200), st.integers(1, 4), st.integers(1, 6))
def test_stack_distances_within_sets_are_exact_lru_of_every_number_of_ways(lines, sets, ways):
    distance = set_distances(np.array(lines), sets)
    hit = (distance >= 0) & (distance < ways)
    assert hit.tolist() == (lone(sets * ways, ways).levels_of(reads(lines)) == 0).tolist()


def test_levels_in_a_row_are_stack_distances_of_what_missed_above():
    """Without devices and without inclusion each level is an LRU of the misses above it."""
    lines = np.random.default_rng(5).zipf(1.3, 20_000) % 700
    found = Caches((Level("a", 32 * 64, 4), Level("b", 256 * 64, 8, True)), inclusive=False).levels_of(reads(lines))
    below = lines[~(((near := set_distances(lines, 8)) >= 0) & (near < 4))]
    far = set_distances(below, 32)
    assert [(found == k).sum() for k in range(2)] == [
        len(lines) - len(below), ((far >= 0) & (far < 8)).sum(),
    ]  # fmt: skip


@pytest.mark.parametrize("skew", [0.0, 0.8, 1.2])
def test_independent_requests_meet_the_characteristic_time(skew):
    """Che, Tung, Wang (IEEE JSAC 2002): hit chances of an LRU cache under independent requests."""
    share = np.arange(1, 1001.0) ** -skew
    lines = np.random.default_rng(2).choice(1000, 120_000, p=share / share.sum())
    hit = lone(200, 200).levels_of(reads(lines))[20_000:] == 0
    expected = (hit_chances(share, 200).hit * share / share.sum()).sum()
    assert hit.mean() == pytest.approx(expected, abs=0.006)


@pytest.mark.parametrize(("cores", "device_ways"), [(3, 2), (4, 2), (4, 20), (6, 2)])
def test_full_rings_of_pages_meet_the_closed_form_of_random_replacement(cores, device_ways):
    """Lines a page apart use a set in 64: a cache of 15 MB holds 3,840 of them, whichever ways devices may take."""
    queue = np.arange(cores * 1024 * 16) % cores
    written, read = ring(queue, 1024, 4096, 64)
    made = Caches((Level("l3", 15 << 20, 20, True),), cores=cores, device_ways=device_ways, replacement="random")
    touches = Touches.in_turn(read, written)
    counted = (touches.core >= 0) & (touches.packet >= len(queue) // 2)
    missed = made.levels_of(touches)[counted] == 1
    assert missed.mean() == pytest.approx(cyclic_miss(cores * 1024, 3840), abs=0.008)
