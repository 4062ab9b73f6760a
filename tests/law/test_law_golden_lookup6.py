"""What is the six-level trie's own: its reads, and updates among the routes of a real IPv6 table.

The laws of all structures are in test_law_golden_lookup.py.
"""

import numpy as np
from hypothesis import given
from reference.route_tables import addresses_within6, bundled_table6, match6

from npexplore.golden.ipv6.addresses import numbers_of, prefix_text
from npexplore.golden.lookup import SixLevelTrie
from npexplore.testing.strategies6 import addresses_near6, routing_tables6


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
