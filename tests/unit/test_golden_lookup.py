"""Lookup structures, rule by rule: what an update changes, what is read, what happens when room runs out."""

import ipaddress

import numpy as np
import pytest
from reference.route_tables import bundled_table, largest_table

import npexplore
from npexplore.errors import InputError, TableFullError
from npexplore.golden.ipv4.addresses import address_text
from npexplore.golden.lookup import LPMS, Dir24_8, LinearLpm, Trie20_4_8, route_cache_hit_ratio
from npexplore.golden.lookup.base import Read
from npexplore.golden.lookup.room import with_room
from npexplore.packets.statistics import destination_locality
from npexplore.paths import share


@pytest.mark.parametrize("name", sorted(LPMS))
def test_prefixes_and_addresses_in_every_form(name):
    table = LPMS[name]()
    table.insert("10.0.0.0/8", 1)
    table.insert(ipaddress.ip_network("10.1.0.0/16"), 2)
    table.insert("10.1.2.3", 3)
    for address, hop in (("10.1.2.3", 3), ("10.1.2.4", 2), ("10.2.0.0", 1), ("11.0.0.0", None)):
        number = int(ipaddress.ip_address(address))
        assert [table.lookup(form) for form in (address, ipaddress.ip_address(address), number)] == [hop] * 3
    table.remove("10.1.2.3/32")
    assert table.lookup("10.1.2.3") == 2
    assert table.nbytes > 0
    assert type(table).source


@pytest.mark.parametrize("name", sorted(LPMS))
def test_what_is_wrong_is_said_and_changes_nothing(name):
    table = LPMS[name].from_routes([("10.0.0.0/8", 1)])
    for prefix, hop, message in (
        ("10.0.0.1/8", 1, r"bits set below its length; nearest: 10\.0\.0\.0/8"),
        ("10.0.0.0/33", 1, "0 to 32"),
        ("10.0.0/8", 1, "must be IPv4"),
        (17, 1, "text or an ipaddress network"),
        ("10.0.0.0/8", -1, "whole number"),
        ("10.0.0.0/8", True, "whole number"),
        ("10.0.0.0/8", 2**31, "whole number"),
    ):
        with pytest.raises(InputError, match=message):
            table.insert(prefix, hop)
    with pytest.raises(InputError, match=r"10\.0\.0\.0/9 is not in the table of 1 routes"):
        table.remove("10.0.0.0/9")
    for address in (-1, 2**32, "1.2.3", "1.2.3.256", 1.5, None):
        with pytest.raises(InputError, match="address must be IPv4"):
            table.lookup(address)
    with pytest.raises(InputError, match="0 to 2"):
        table.lookup_many([2**32])
    with pytest.raises(InputError, match="one column of integers"):
        table.lookup_many(np.zeros(3))
    with pytest.raises(InputError, match="out must be int32"):
        table.lookup_many([1, 2], out=np.zeros(2))
    assert table.lookup("10.9.9.9") == 1
    assert len(table) == 1


@pytest.mark.parametrize("name", sorted(LPMS))
def test_columns_are_checked(name):
    kind = LPMS[name]
    with pytest.raises(InputError, match="equally long"):
        kind.from_columns(np.zeros(2, np.uint32), np.zeros(1, np.uint8), np.zeros(2, np.int32))
    with pytest.raises(InputError, match="0 to 32, got 33"):
        kind.from_columns(np.zeros(1, np.uint32), np.full(1, 33), np.zeros(1, np.int32))
    with pytest.raises(InputError, match=r"0\.0\.0\.1/8 \(row 0\)"):
        kind.from_columns(np.ones(1, np.uint32), np.full(1, 8), np.zeros(1, np.int32))
    with pytest.raises(InputError, match="next hops"):
        kind.from_columns(np.zeros(1, np.uint32), np.full(1, 8), np.full(1, -1))
    empty = kind.from_columns(np.zeros(0, np.uint32), np.zeros(0, np.uint8), np.zeros(0, np.int32))
    assert empty.lookup_many([0, 1]).tolist() == [-1, -1]
    twice = kind.from_routes([("10.0.0.0/8", 1), ("10.0.0.0/8", 2)])
    assert (len(twice), twice.lookup("10.0.0.1")) == (1, 2)
    twice.remove("10.0.0.0/8")
    assert twice.lookup("10.0.0.1") is None


def test_dir24_8_reads_one_word_or_two():
    table = Dir24_8.from_routes([("10.0.0.0/8", 1), ("10.0.1.128/25", 2)])
    assert table.reads("10.0.0.1") == (Read("tbl24", 0x0A0000),)
    assert table.reads("10.0.1.200") == (Read("tbl24", 0x0A0001), Read("tbl8", 200))
    assert table.reads("10.0.1.5") == (Read("tbl24", 0x0A0001), Read("tbl8", 5))


def test_dir24_8_segments_are_reused():
    table = Dir24_8(segments=1)
    table.insert("10.0.0.0/24", 1)
    for number in range(5):
        table.insert(f"10.0.{number}.128/25", 7)
        assert table.segments == 1
        table.remove(f"10.0.{number}.128/25")
        assert table.segments == 0
    assert [table.lookup("10.0.0.200"), table.lookup("10.0.1.200")] == [1, None]


def test_dir24_8_without_a_segment_left_is_as_it_was():
    table = Dir24_8(segments=1)
    table.insert("10.0.0.128/25", 1)
    with pytest.raises(TableFullError, match=r"10\.0\.1\.0/25: all 1 segments of tbl8"):
        table.insert("10.0.1.0/25", 9)
    assert (len(table), table.lookup("10.0.1.1")) == (1, None)
    table.insert("10.0.0.0/26", 2)  # in the segment that is there
    assert table.lookup("10.0.0.1") == 2
    with pytest.raises(TableFullError, match="2 routes need 2 segments"):
        Dir24_8.from_routes([("10.0.0.128/25", 1), ("10.0.1.128/25", 1)], segments=1)


def test_next_hops_run_out_and_come_back():
    table = Dir24_8(next_hops=2)
    table.insert("10.0.0.0/8", 100)
    table.insert("11.0.0.0/8", 200)
    with pytest.raises(TableFullError, match="next hop 300: all 2 numbers"):
        table.insert("12.0.0.0/8", 300)
    with pytest.raises(TableFullError, match="next hop 300"):
        table.insert("10.0.0.0/25", 300)
    assert (table.segments, table.lookup("10.0.0.1"), table.lookup("12.0.0.1")) == (0, 100, None)
    table.remove("10.0.0.0/8")
    table.insert("12.0.0.0/8", 300)
    assert table.lookup("12.0.0.1") == 300
    with pytest.raises(TableFullError, match="3 next hops: there are numbers for 2"):
        Dir24_8.from_routes([(f"{n}.0.0.0/8", n) for n in (1, 2, 3)], next_hops=2)


def test_next_hops_that_only_a_repeated_prefix_used_are_free():
    table = Dir24_8.from_routes([("10.0.0.0/8", 1), ("10.0.0.0/8", 2)], next_hops=2)
    table.insert("11.0.0.0/8", 3)
    assert [table.lookup("10.0.0.1"), table.lookup("11.0.0.1")] == [2, 3]


def test_deletion_finds_the_next_covering_route():
    table = Dir24_8.from_routes([("0.0.0.0/0", 0), ("10.0.0.0/8", 8), ("10.0.0.0/24", 24), ("10.0.0.0/30", 30)])
    for prefix, hop in (("10.0.0.0/24", 30), ("10.0.0.0/30", 8), ("10.0.0.0/8", 0), ("0.0.0.0/0", None)):
        table.remove(prefix)
        assert table.lookup("10.0.0.1") == hop


@pytest.mark.parametrize("settings", [{"segments": -1}, {"segments": 32769}, {"next_hops": 0}, {"next_hops": 32768}])
def test_sizes_that_16_bits_cannot_say_are_refused(settings):
    with pytest.raises(InputError, match=r"DIR-24-8 must be"):
        Dir24_8(**settings)


def test_trie_stops_at_a_leaf():
    table = Trie20_4_8.from_routes([("10.0.0.0/8", 1), ("10.1.16.0/22", 2), ("10.1.16.128/25", 3)])
    assert table.reads("10.0.0.1") == (Read("level1", 0x0A000),)
    assert table.reads("10.1.17.1") == (Read("level1", 0x0A011), Read("level2", 1))
    assert table.reads("10.1.16.200") == (Read("level1", 0x0A011), Read("level2", 0), Read("level3", 100))


def test_trie_storage_is_counted_as_the_paper_counts_it():
    table = Trie20_4_8.from_routes([("10.0.0.0/8", 1), ("10.1.16.0/22", 2), ("10.1.16.128/25", 3)])
    assert table.storage() == (3, 2**20, 16, 256, 2**20 + 16 + 128)
    # the printed rows hold to the same sum
    printed = {row["key"]: row["point"] for _, row in npexplore.published().reset_index().iterrows()}
    for collector in ("rrc00", "rrc02"):
        one, two, three, total = (
            printed[f"gorilla.fig6.{collector}.{k}"] for k in ("level1", "level2", "level3", "total")
        )
        assert one == 2**20
        assert total == one + two + three / 2


def test_trie_words_bound_nodes_and_next_hops():
    small = Trie20_4_8(word_bits=4)  # leaves 0 to 3, pointers to 12 nodes
    for number in range(12):
        small.insert(f"10.{number}.0.0/24", 1)
    with pytest.raises(TableFullError, match="all 12 nodes of level2"):
        small.insert("10.12.0.0/24", 1)
    small.insert("10.0.0.0/30", 2)
    small.insert("10.0.1.0/24", 3)
    with pytest.raises(TableFullError, match="all 3 numbers"):
        small.insert("10.0.2.0/24", 4)
    assert small.nodes == (1, 12, 1)
    with pytest.raises(InputError, match="even and 4 to 32, got 7"):
        Trie20_4_8(word_bits=7)
    assert Dir24_8(segments=0, next_hops=1).segments == 0  # the least


@pytest.mark.slow
def test_the_largest_table_fits_its_memory():
    value, length = largest_table()
    table = Dir24_8.from_columns(value, length, np.arange(len(value)) % 200)
    assert table.nbytes <= 60e6
    assert len(table) == len(value)


def test_reads_of_the_bundled_table():
    """Over real routes a packet reads between one and three words, fewest where prefixes are short."""
    value, length = bundled_table()
    table = Trie20_4_8.from_columns(value, length, np.arange(len(value)) % 200)
    reads = table.reads_many(value)
    assert reads.tables == ("level1", "level2", "level3")
    assert reads.count[length > 24].tolist() == [3] * int((length > 24).sum())
    assert set(reads.count[length <= 20].tolist()) <= {1, 2, 3}


@pytest.mark.parametrize("policy", ["lru", "direct_mapped"])
def test_route_cache_on_a_capture(policy):
    columns = npexplore.read_capture(share("data", "captures", "zeek_modbus_modbusBig.pcap.gz")).columns
    some = address_text(int(columns["dst"][0]))
    routes = LinearLpm.from_routes([("0.0.0.0/0", 0), (some, 1)])
    ratios = [route_cache_hit_ratio(columns, entries, policy=policy, routes=routes) for entries in (0, 1, 1024)]
    assert ratios[0] == 0
    assert ratios[1] < ratios[2] == 1 - 2 / columns.rows  # each of the two routes is missed once
    assert route_cache_hit_ratio(columns, 1, prefix_bits=0, policy=policy) == 1 - 1 / columns.rows


def test_lru_route_cache_is_the_locality_of_destinations():
    columns = npexplore.read_capture(share("data", "captures", "zeek_modbus_modbusBig.pcap.gz")).columns
    assert route_cache_hit_ratio(columns, 2) == destination_locality(columns).hit_ratio(2)
    assert 0.5 < route_cache_hit_ratio(columns, 2) < 1


def test_route_cache_refuses():
    columns = npexplore.read_capture(share("data", "captures", "zeek_modbus_modbusBig.pcap.gz")).columns
    with pytest.raises(InputError, match="nearest: lru"):
        route_cache_hit_ratio(columns, 4, policy="lur")
    with pytest.raises(InputError, match="at least 0"):
        route_cache_hit_ratio(columns, -1)


def test_routes_that_do_not_fit_go_to_a_larger_structure():
    value = np.arange(8, dtype=np.uint32) << 8
    length, hops = np.full(8, 32, np.uint8), np.arange(8, dtype=np.int32)
    with pytest.warns(UserWarning, match="8 routes need 8 segments of tbl8, there are 4; Trie20_4_8 takes its place"):
        table = with_room(Dir24_8, value, length, hops, segments=4)
    assert isinstance(table, Trie20_4_8)
    assert table.lookup_many(value).tolist() == hops.tolist()
    with pytest.warns(UserWarning, match="BinaryTrie takes its place"):
        table = with_room(Trie20_4_8, value, length, hops, word_bits=4)
    assert table.lookup_many(value).tolist() == hops.tolist()
    with pytest.raises(InputError, match="segments of DIR-24-8 must be"):  # what more room does not mend
        with_room(Dir24_8, value, length, hops, segments=-1)
