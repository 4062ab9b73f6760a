"""The running totals equal counting the plain reference's packets, in any chunks; rates conserve packets and bytes."""

import io
import math
import statistics
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from reference import capture_files as make
from reference import capture_reader as reference
from reference.capture_strategies import ethernets, lengths

from npexplore.packets import CaptureScan
from npexplore.packets.statistics import CaptureCounts
from npexplore.packets.statistics.rates import RateCounter

records = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 999_999), ethernets, lengths), max_size=20)
times = st.one_of(st.integers(0, 10**7), st.integers(-(2**62), 2**62), st.just(-(2**63)))


def counted(data, chunk):
    counts = CaptureCounts()
    scan = CaptureScan(io.BytesIO(data), chunk_packets=chunk, passing=True)
    for table in scan:
        counts.add(table)
    return counts.document("file", scan.format, scan.damage)


@given(records, st.integers(1, 30))
def test_document_equals_plain_counting(rows, chunk):
    data = make.pcap(rows)
    document = counted(data, chunk)
    packets, _ = reference.read(data)
    four = [p for p in packets if p["flags"] & reference.IPV4]
    have = [p["captured"] - p["l3_offset"] for p in four]
    sizes = [p["length"] for p in packets]
    flags = {
        "fragments": reference.FRAGMENT, "fragments_nonfirst": reference.NONFIRST, "df": reference.DF,
        "with_options": reference.OPTIONS, "checksum_good": reference.GOOD, "checksum_bad": reference.BAD,
        "checksum_unverified": reference.UNVERIFIED,
    }  # fmt: skip
    for name, bit in flags.items():
        assert document[name] == sum(bool(p["flags"] & bit) for p in four), name
    assert document["packets"] == len(packets)
    assert document["bytes"] == sum(sizes)
    assert document["captured_bytes"] == sum(p["captured"] for p in packets)
    assert document["ipv4"] == len(four)
    assert document["ipv6"] == sum(bool(p["flags"] & reference.IPV6) for p in packets)
    assert document["arp"] == sum(bool(p["flags"] & reference.ARP) for p in packets)
    assert document["other"] == len(packets) - document["ipv4"] - document["ipv6"] - document["arp"]
    assert document["vlan"] == sum(bool(p["vlans"]) for p in packets)
    assert document["mpls"] == sum(bool(p["labels"]) for p in packets)
    assert document["ttl_le_1"] == sum(h >= 9 and p["ttl"] <= 1 for p, h in zip(four, have, strict=True))
    protocols = Counter(str(p["ip_proto"]) for p, h in zip(four, have, strict=True) if h >= 10)
    assert document["ip_proto"] == dict(protocols)
    assert document["dscp"] == dict(Counter(str(p["tos"] >> 2) for p, h in zip(four, have, strict=True) if h >= 2))
    whole = [p for p in four if p["flags"] & reference.HEADER]
    assert document["flows"] == len({tuple(p[n] for n in ("src", "dst", "ip_proto", "sport", "dport")) for p in whole})
    bounds = [int(bound) for bound in document["length_histogram"]]
    assert bounds == [0, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120]
    for low, high in zip(bounds, [*bounds[1:], 2**32], strict=True):
        assert document["length_histogram"][str(low)] == sum(low <= size < high for size in sizes)
    stamps = [p["t_ns"] for p in packets] or [None]
    expected = [stamps[0], stamps[-1], *([min(stamps), max(stamps)] if packets else [None, None])]
    assert [document[f"{end}_time_ns"] for end in ("first", "last", "min", "max")] == expected
    if packets:
        mean = sum(sizes) / len(sizes)
        assert document["mean_length"] == pytest.approx(mean)
        if mean:
            assert document["cov_length"] == pytest.approx(statistics.pstdev(sizes) / mean, abs=1e-9)
    gaps = [(b - a) / 1e9 for a, b in pairwise(stamps)]
    if gaps:
        assert document["burstiness"]["interarrival_mean_s"] == pytest.approx(statistics.fmean(gaps), abs=1e-12)
        assert document["burstiness"]["backwards_steps"] == sum(gap < 0 for gap in gaps)
    duration = document["rate"]["duration_s"]
    if duration:
        assert document["rate"]["packets_per_s"] == pytest.approx(len(packets) / duration)
        assert document["rate"]["bits_per_s"] == pytest.approx(sum(sizes) * 8 / duration)


@given(
    st.lists(st.lists(st.tuples(times, st.integers(0, 2**32 - 1)), max_size=30), max_size=5), st.sampled_from([4, 64])
)
def test_rate_series_conserves_packets_and_bytes_and_says_when(chunks, bins):
    counter = RateCounter(bins)
    for chunk in chunks:
        counter.add(np.array([t for t, _ in chunk], np.int64), np.array([n for _, n in chunk], np.uint32))
    timed = [(t, n) for chunk in chunks for t, n in chunk if t != -(2**63)]
    series = counter.series()
    if not timed:
        assert series is None
        return
    assert series.packets.sum() == len(timed)
    assert series.bytes.sum() == sum(n for _, n in timed)
    expected = Counter((t - series.start_ns) // series.width_ns for t, _ in timed)
    assert dict(enumerate(series.packets.tolist())) == {i: expected[i] for i in range(len(series.packets))}
    assert len(series.packets) <= bins
    span = max(t for t, _ in timed) - min(t for t, _ in timed)
    assert series.width_ns <= max(1024, 4 * math.ceil((span + 1) / bins))


@given(st.lists(records, min_size=1, max_size=4), st.lists(times, max_size=4))
def test_counts_of_parts_join_to_those_of_the_whole(parts, moments):
    whole, joined = CaptureCounts(), CaptureCounts()
    tables = [table for rows in parts for table in CaptureScan(io.BytesIO(make.pcap(rows)))]
    for k, table in enumerate(tables):
        if k < len(moments):
            table.stored["t_ns"][:] = moments[k]
        one = CaptureCounts()
        one.add(table)
        whole.add(table)
        joined.merge(one)
    assert joined.document("file", "", None) == whole.document("file", "", None)
    assert joined.squares.tolist() == whole.squares.tolist()
    series = joined.rates, whole.rates
    assert repr(series[0]) == repr(series[1])


@given(st.lists(times, min_size=1, max_size=30))
def test_squares_of_the_times_between_packets_are_exact(moments):
    counts = CaptureCounts()
    table = next(iter(CaptureScan(io.BytesIO(make.pcap([(0, 0, b"", 0)] * len(moments))))))
    table.stored["t_ns"][:] = moments
    counts.add(table)
    timed = [moment for moment in moments if moment != -(2**63)]
    expected = sum((after - before) ** 2 for before, after in pairwise(timed))
    assert sum(int(word) << 64 * k for k, word in enumerate(counts.squares)) == expected


@example([[2 << 10], [1 << 10, 6 << 10]], 3)  # the later bins are the wider ones, and would fit into narrower ones
@given(st.lists(st.lists(times, min_size=1, max_size=5), min_size=1, max_size=4), st.integers(2, 9))
def test_bins_of_parts_join_to_those_of_the_whole(parts, bins):
    whole, joined = RateCounter(bins), RateCounter(bins)
    for moments in parts:
        one, t_ns = RateCounter(bins), np.array(moments, np.int64)
        for counter in (one, whole):
            counter.add(t_ns, np.arange(1, 1 + len(t_ns), dtype=np.uint32))
        joined.merge(one)
    assert repr(joined.series()) == repr(whole.series())
