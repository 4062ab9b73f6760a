"""The numbers of trace stats on captures whose answer is known."""

import io

import numpy as np
import pytest
from reference import capture_files as make

from npexplore._kernels.capture_counts import NO_TIME
from npexplore.packets.statistics import count_capture
from npexplore.packets.statistics.rates import RateCounter, RateSeries
from npexplore.paths import share

FIELDS = (
    "file format link_types packets bytes captured_bytes first_time_ns last_time_ns min_time_ns max_time_ns ipv4 ipv6 "
    "arp other vlan mpls ttl_le_1 fragments fragments_nonfirst df with_options checksum_good checksum_bad "
    "checksum_unverified length_histogram ip_proto dscp flows mean_length cov_length rate burstiness damage"
)


def counts(data):
    return count_capture(io.BytesIO(data))[0]


def frame(size, **kwargs):
    return make.ethernet(make.ipv4(make.udp(payload=bytes(size - 42)), **kwargs))


def test_document_has_every_field_also_of_an_empty_capture():
    document = counts(make.pcap([])).document("x", "pcap", None)
    assert list(document) == FIELDS.split()
    nothing = ("first_time_ns", "last_time_ns", "min_time_ns", "max_time_ns", "mean_length", "cov_length", "damage")
    assert all(document[name] is None for name in nothing)
    assert document["packets"] == document["flows"] == 0
    assert document["link_types"] == {}
    assert document["rate"] == dict.fromkeys(document["rate"])


def test_original_length_counts_not_the_captured_one():
    found = counts(make.pcap([(0, 0, frame(60)[:34], 1500), (1, 0, frame(60), None)]))
    assert found.mean_length() == 780
    assert found.document("", "", None)["captured_bytes"] == 94
    assert found.length_histogram()[1280] == 1


def test_lengths_beyond_64_kilobytes():
    found = counts(make.pcap([(0, 0, b"", 65535), (0, 0, b"", 65536), (0, 0, b"", 2**32 - 1), (0, 0, b"", 65536)]))
    assert found.lengths().length_bytes.tolist() == [65535, 65536, 2**32 - 1]
    assert found.lengths().packets.tolist() == [1, 2, 1]
    assert found.mean_length() == (65535 + 2 * 65536 + 2**32 - 1) / 4


def test_narrow_accesses():
    # 64 bytes: one full cell; 65: a full and a narrow one; 40: one narrow one
    assert counts(make.pcap([(0, 0, b"", size) for size in (64, 65, 40)])).narrow_share(64) == 2 / 4
    assert counts(make.pcap([(0, 0, b"", 64)])).narrow_share(64) == 0
    assert counts(make.pcap([(0, 0, b"", 64)])).narrow_share(128) == 1
    assert counts(make.pcap([])).narrow_share() is None


def test_flows_are_directed_and_survive_growth():
    packets = [frame(60, src=n, dst=m) for n in range(120) for m in range(60)]
    both = [*packets, *packets, frame(60, src=1, dst=500), frame(60, src=500, dst=1)]
    assert counts(make.pcap([(0, 0, data, None) for data in both])).flows == 7202


def test_times_may_run_backwards_or_be_missing():
    found = counts(make.pcap([(5, 0, b"", 1), (3, 0, b"", 1), (4, 0, b"", 1)]))
    assert found.time_range() == {
        "first_time_ns": 5 * 10**9, "last_time_ns": 4 * 10**9, "min_time_ns": 3 * 10**9, "max_time_ns": 5 * 10**9,
    }  # fmt: skip
    assert found.burstiness()["backwards_steps"] == 1
    assert found.rate()["duration_s"] == 2
    simple = counts(make.section() + make.interface() + make.simple(b"abc") * 3)
    assert simple.time_range()["first_time_ns"] is None
    assert simple.rates is None
    assert simple.burstiness()["interarrival_mean_s"] is None
    assert simple.burstiness()["hurst"] is None


def test_periodic_and_poisson_and_batch_arrivals_tell_apart():
    rng = np.random.default_rng(7)
    n = 40_000
    arrivals = {
        "periodic": np.arange(n) * 10_000,
        "poisson": np.cumsum(rng.exponential(10_000, n)),
        "batches of ten": np.repeat(np.cumsum(rng.exponential(100_000, n // 10)), 10),
    }
    index = {}
    for name, t in arrivals.items():
        counter = RateCounter(1 << 12)
        counter.add(t.astype(np.int64), np.full(n, 100, np.uint32))
        index[name] = counter.series().dispersion()[0][1]
    assert index["periodic"] < 0.05
    assert index["poisson"] == pytest.approx(1, abs=0.15)
    assert index["batches of ten"] == pytest.approx(10, abs=2)


def test_bins_move_once_for_packets_that_come_ever_earlier(monkeypatch):
    calls, make_room = [], RateCounter._make_room
    monkeypatch.setattr(RateCounter, "_make_room", lambda self, *times: calls.append(times) or make_room(self, *times))
    times, lengths = np.append(np.arange(1_000) * 5_000, NO_TIME), np.arange(1_001, dtype=np.uint32)
    forward, backward = RateCounter(64), RateCounter(64)
    forward.add(times, lengths)
    backward.add(times[::-1], lengths[::-1])
    assert len(calls) == 2
    assert backward.state().tolist() == forward.state().tolist()


def test_peak_and_coarser():
    series = RateSeries(0, 1_000_000, np.array([1, 0, 5, 1, 2]), np.array([10, 0, 50, 10, 20]))
    assert series.peak() == (0.001, 5000, 400_000)
    assert series.peak(0.002) == (0.002, 3000, 240_000)
    assert series.coarser(2).packets.tolist() == [1, 6]
    assert series.coarser(2).width_ns == 2_000_000


def test_bundled_capture():
    found, scan = count_capture(share("data", "captures", "zeek_wikipedia.pcap"))
    document = found.document("w", scan.format, scan.damage)
    assert document["packets"] == 136
    assert document["bytes"] == 25260
    assert document["first_time_ns"] == 1300475167096535000
    assert (document["ipv4"], document["ipv6"], document["arp"], document["other"]) == (121, 5, 6, 4)
    assert document["ip_proto"] == {"6": 78, "17": 43}


def test_burstiness_of_a_poisson_capture():
    rng = np.random.default_rng(3)
    times = np.cumsum(rng.exponential(1e6, 60_000)).astype(np.int64)
    data = make.pcap([(t // 10**9, t % 10**9, b"", 60) for t in times.tolist()], make.NS)
    burstiness = counts(data).burstiness()
    assert burstiness["interarrival_cov"] == pytest.approx(1, abs=0.02)
    assert burstiness["interarrival_mean_s"] == pytest.approx(1e-3, rel=0.02)
    assert burstiness["hurst"]["low"] < 0.5 < burstiness["hurst"]["high"]
    assert burstiness["index_of_dispersion"][0]["value"] == pytest.approx(1, abs=0.1)
