"""IPv6 structures answer as the linear reference does, after any updates; batches answer as single lookups."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.route_tables import addresses_within6, bundled_table6, match6

from npexplore.golden.ipv6.addresses import numbers_of, prefix_text
from npexplore.golden.lookup import LPMS6, LinearLpm6, SixLevelTrie
from npexplore.testing.strategies6 import addresses6, addresses_near6, routing_tables6, updates6

FAST = sorted(set(LPMS6) - {"linear"})


@pytest.fixture(scope="module")
def tables():
    """One table of each kind for all examples."""
    return {name: LPMS6[name]() for name in FAST}


def emptied(table):
    value, length, _ = table.routes()
    for row in zip(numbers_of(value), length.tolist(), strict=True):
        table.remove(prefix_text(*row))
    return table


def columns(table):
    return [column.tolist() for column in table.routes()]


@pytest.mark.parametrize("name", FAST)
@settings(max_examples=40)
@given(updates6(max_size=20), st.lists(addresses6(), max_size=20))
def test_every_structure_answers_as_the_reference(tables, name, sequence, more):
    table, reference = emptied(tables[name]), LinearLpm6()
    for prefix, hop in sequence:
        for one in (table, reference):
            one.remove(prefix) if hop is None else one.insert(prefix, hop)
    probes = [*addresses_near6(sequence), *more]
    assert table.lookup_many(probes).tolist() == reference.lookup_many(probes).tolist()
    assert columns(table) == columns(reference)
    built = LPMS6[name].from_columns(*reference.routes())
    assert built.lookup_many(probes).tolist() == reference.lookup_many(probes).tolist()
    assert built.nodes == table.nodes


@pytest.mark.parametrize("name", FAST)
@settings(max_examples=30)
@given(updates6(max_size=20))
def test_taking_everything_away_leaves_nothing_behind(tables, name, sequence):
    table = emptied(tables[name])
    before = table.nodes
    for prefix, hop in sequence:
        table.insert(prefix, hop) if hop is not None else table.remove(prefix)
    emptied(table)
    assert table.nodes == before
    assert set(table.lookup_many(addresses_near6(sequence)).tolist()) == {-1}


@pytest.mark.parametrize("name", sorted(LPMS6))
@settings(max_examples=50)
@given(routing_tables6(), st.lists(addresses6(), max_size=20))
def test_a_batch_answers_and_reads_as_single_lookups(tables, name, routes, more):
    table = emptied(tables[name]) if name in tables else LPMS6[name]()
    for prefix, hop in routes:
        table.insert(prefix, hop)
    probes = [*addresses_near6(routes), *more]
    expected = [-1 if hop is None else hop for hop in map(table.lookup, probes)]
    assert table.lookup_many(probes).tolist() == expected
    reads = table.reads_many(probes)
    assert [reads.of(row) for row in range(len(probes))] == [table.reads(address) for address in probes]


@given(routing_tables6(), st.lists(addresses6(), min_size=1))
def test_linear_reference_agrees_with_trying_every_length(routes, probes):
    from npexplore.golden.ipv6.addresses import prefix_pair

    table, plain = LinearLpm6.from_routes(routes), {prefix_pair(prefix): hop for prefix, hop in routes}
    assert [table.lookup(address) for address in probes] == [match6(plain, address) for address in probes]


@given(routing_tables6())
def test_six_reads_reach_every_network(routes):
    """Nothing beyond the sixth level is read, or there, unless a route is longer than 64 bits."""
    short = [(prefix, hop) for prefix, hop in routes if int(prefix.split("/")[1]) <= 64]
    table = SixLevelTrie.from_routes(short)
    assert table.storage().beyond_entries == 0
    assert table.reads_many(addresses_near6(short)).count.max() <= 6


def test_random_updates_on_real_routes():
    rng = np.random.default_rng(5)
    value, length = bundled_table6()
    table = SixLevelTrie.from_columns(value, length, np.arange(len(value)) % 300)
    plain = dict(
        zip(zip(numbers_of(value), length.tolist(), strict=True), table.routes().next_hop.tolist(), strict=True)
    )
    pool = list(plain)
    for step in range(2_000):
        prefix = pool[int(rng.integers(len(pool)))]
        if rng.random() < 0.4 and prefix in plain:
            del plain[prefix]
            table.remove(prefix_text(*prefix))
        else:
            plain[prefix] = step % 300
            table.insert(prefix_text(*prefix), step % 300)
    probes = addresses_within6(value, length, 5_000, rng)
    expected = [match6(plain, address) for address in numbers_of(probes)]
    assert table.lookup_many(probes).tolist() == [-1 if hop is None else hop for hop in expected]
    assert len(table) == len(plain)
