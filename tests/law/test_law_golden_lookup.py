"""Every lookup structure answers as the linear reference does, after any updates; batches answer as single lookups."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.route_tables import addresses_within, bundled_table, largest_table, match, match6

from npexplore.golden.ipv4.addresses import prefix_mask, prefix_text
from npexplore.golden.lookup import LPMS, LPMS6
from npexplore.golden.lookup.cache import ROUTE_CACHES
from npexplore.golden.lookup.family import IPV4, IPV6, Family
from npexplore.golden.lookup.route_table import RouteTable
from npexplore.testing.strategies import addresses, addresses_near, routing_tables, updates
from npexplore.testing.strategies6 import addresses6, routing_tables6, updates6


class Structures(NamedTuple):
    """The structures of a family by name, how to draw for them, and a match that tries every length."""

    family: Family
    kinds: Mapping[str, Any]
    updates: Any
    tables: Any
    addresses: Any
    match: Callable[[Any, int], int | None]


FAMILIES = {
    "IPv4": Structures(IPV4, LPMS, updates(max_size=20), routing_tables(), addresses(), match),
    "IPv6": Structures(IPV6, LPMS6, updates6(max_size=20), routing_tables6(), addresses6(), match6),
}
ALL = [(of, name) for of, found in FAMILIES.items() for name in sorted(found.kinds)]
FAST_OF_ALL = [(of, name) for of, name in ALL if name != "linear"]
FAST = [name for of, name in FAST_OF_ALL if of == "IPv4"]


@pytest.fixture(scope="module")
def tables():
    """One table of each kind for all examples: a table of 2^24 entries is not made anew for each."""
    return {(of, name): FAMILIES[of].kinds[name]() for of, name in FAST_OF_ALL}


def emptied(table):
    value, length, _ = table.routes()
    for row in zip(table.family.numbers(value), length.tolist(), strict=True):
        table.remove(table.family.prefix_text(*row))
    return table


def changed(table, sequence):
    for prefix, hop in sequence:
        table.remove(prefix) if hop is None else table.insert(prefix, hop)
    return table


def answers(table, probes):
    return table.lookup_many(table.family.rows(probes)).tolist()


def columns(table):
    return [column.tolist() for column in table.routes()]


@pytest.mark.parametrize(("of", "name"), FAST_OF_ALL)
@settings(max_examples=30)
@given(data=st.data())
def test_every_structure_answers_as_the_reference(tables, of, name, data):
    family, kinds, drawn, _, more, _ = FAMILIES[of]
    sequence = data.draw(drawn)
    probes = [*addresses_near(sequence, family), *data.draw(st.lists(more, max_size=20))]
    table = changed(emptied(tables[of, name]), sequence)
    reference = changed(kinds["linear"](), sequence)
    assert answers(table, probes) == answers(reference, probes)
    assert len(table) == len(reference)
    assert columns(table) == columns(reference)


@pytest.mark.parametrize(("of", "name"), [case for case in FAST_OF_ALL if case[0] == "IPv6"])
@settings(max_examples=30)
@given(data=st.data())
def test_columns_of_any_routes_build_what_updates_build(tables, of, name, data):
    """IPv4 tables are too large to be built for each example; `test_columns_build_what_insertions_build` builds one."""
    sequence = data.draw(FAMILIES[of].updates)
    table = changed(emptied(tables[of, name]), sequence)
    built = FAMILIES[of].kinds[name].from_columns(*table.routes())
    probes = addresses_near(sequence, FAMILIES[of].family)
    assert answers(built, probes) == answers(table, probes)
    assert built.nodes == table.nodes


@pytest.mark.parametrize(("of", "name"), FAST_OF_ALL)
@settings(max_examples=30)
@given(data=st.data())
def test_taking_everything_away_leaves_nothing_behind(tables, of, name, data):
    table, sequence = emptied(tables[of, name]), data.draw(FAMILIES[of].updates)
    before = table.nodes
    emptied(changed(table, sequence))
    assert table.nodes == before
    assert set(answers(table, addresses_near(sequence, FAMILIES[of].family))) == {-1}


@pytest.mark.parametrize(("of", "name"), ALL)
@settings(max_examples=30)
@given(data=st.data())
def test_a_batch_answers_and_reads_as_single_lookups(tables, of, name, data):
    family, kinds, _, drawn, more, _ = FAMILIES[of]
    routes = data.draw(drawn)
    table = changed(emptied(tables[of, name]) if (of, name) in tables else kinds[name](), routes)
    probes = [*addresses_near(routes, family), *data.draw(st.lists(more, max_size=20))]
    assert answers(table, probes) == [-1 if hop is None else hop for hop in map(table.lookup, probes)]
    reads = table.reads_many(family.rows(probes))
    assert [reads.of(row) for row in range(len(probes))] == [table.reads(address) for address in probes]
    assert reads.count.tolist() == [len(table.reads(address)) for address in probes]


@pytest.mark.parametrize("of", FAMILIES)
@given(data=st.data())
def test_linear_reference_agrees_with_trying_every_length(of, data):
    family, kinds, _, drawn, more, longest = FAMILIES[of]
    routes, probes = data.draw(drawn), data.draw(st.lists(more, min_size=1))
    table, plain = kinds["linear"].from_routes(routes), {family.prefix_pair(prefix): hop for prefix, hop in routes}
    assert [table.lookup(address) for address in probes] == [longest(plain, address) for address in probes]


@pytest.mark.parametrize("name", FAST)
def test_columns_build_what_insertions_build(name):
    value, length = (column[::7] for column in bundled_table())
    hop = np.arange(len(value)) % 300
    built, grown = LPMS[name].from_columns(value, length, hop), LPMS[name]()
    for row in np.random.default_rng(3).permutation(len(value)).tolist():
        grown.insert(prefix_text(int(value[row]), int(length[row])), int(hop[row]))
    probes = addresses_within(value, length, 20_000, np.random.default_rng(4))
    assert (built.lookup_many(probes) == grown.lookup_many(probes)).all()
    assert built.nodes == grown.nodes
    plain = dict(zip(zip(value.tolist(), length.tolist(), strict=True), hop.tolist(), strict=True))
    assert built.lookup_many(probes[:500]).tolist() == [match(plain, address) for address in probes[:500].tolist()]


def random_updates(name, columns, count, seed):
    """Insert, replace and remove at random, /0 and /1 last; look up where each update was, at the end everywhere."""
    rng = np.random.default_rng(seed)
    value, length = columns
    hop = rng.integers(0, 400, len(value))
    table = LPMS[name].from_columns(value, length, hop)
    plain = dict(zip(zip(value.tolist(), length.tolist(), strict=True), hop.tolist(), strict=True))
    pool = list(plain)
    last = [(0, 0), (0, 1), (1 << 31, 1)]
    wrong = 0
    for step in range(count):
        kind = rng.random()
        if step >= count - len(last):
            prefix = last[step - count]
        elif kind < 0.6:
            prefix = pool[int(rng.integers(0, len(pool)))]
        else:
            bits = int(rng.integers(8, 33))
            base = pool[int(rng.integers(0, len(pool)))][0] + int(rng.integers(0, 4096))
            prefix = (base % 2**32 >> (32 - bits) << (32 - bits), bits)
        if kind < 0.4 and prefix in plain and prefix not in last:
            del plain[prefix]
            table.remove(prefix_text(*prefix))
        else:
            plain[prefix] = step % 400
            table.insert(prefix_text(*prefix), step % 400)
        probe = prefix[0] + int(rng.integers(0, 1 << (32 - prefix[1])))
        wrong += table.lookup(probe) != match(plain, probe)
    probes = np.concatenate(
        [addresses_within(value, length, 50_000, rng), rng.integers(0, 2**32, 50_000, dtype=np.uint32)]
    )
    expected = [match(plain, address) for address in probes.tolist()]
    assert wrong == 0
    assert (table.lookup_many(probes) == np.array(expected)).all()  # /0 is there: no None
    assert len(table) == len(plain)


@pytest.mark.parametrize("name", FAST)
def test_random_updates_on_real_routes(name):
    random_updates(name, bundled_table(), 3_000, 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", FAST)
def test_10_000_random_updates_on_the_largest_table(name):
    random_updates(name, largest_table(), 10_000, 2)


@given(st.lists(st.tuples(st.integers(0, 40), st.sampled_from((24, 30, 32)), st.integers(-1, 9)), max_size=200))
def test_route_table_is_a_dict_that_knows_covers(steps):
    """Few slots, many collisions: put, take (hop -1), grow."""
    table, plain = RouteTable(slots=2), {}
    for number, length, hop in steps:
        prefix = (number << (32 - length)) & 0xFFFFFFFF, length
        if hop < 0:
            assert table.take(*prefix) == plain.pop(prefix, -1)
        else:
            table.put(*prefix, hop)
            plain[prefix] = hop
        assert len(table) == len(plain)
    assert {prefix: table.get(*prefix) for prefix in plain} == plain
    value, length, hop = (column.tolist() for column in table.columns())
    assert list(zip(zip(value, length, strict=True), hop, strict=True)) == sorted(plain.items())
    for value, length in plain:
        above = [n for n in range(length) if (value & prefix_mask(n), n) in plain]
        expected = (plain[value & prefix_mask(above[-1]), above[-1]], above[-1]) if above else (0, 0)
        assert table.cover(value, length) == expected


@given(st.lists(st.integers(0, 30), max_size=60), st.integers(0, 10))
def test_caches_hit_what_a_plain_simulation_hits(keys, entries):
    recent, places = [], {}
    lru, direct = [], []
    for key in keys:
        lru.append(key in recent)
        recent = ([key] + [other for other in recent if other != key])[:entries]
        direct.append(entries > 0 and places.get(key % entries) == key)
        if entries:
            places[key % entries] = key
    expected = {"lru": lru, "direct_mapped": direct}
    for name, hits in ROUTE_CACHES.items():
        assert hits(np.array(keys, np.int64), entries).tolist() == expected[name]
