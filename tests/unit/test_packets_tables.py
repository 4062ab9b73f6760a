"""The tables behind a capture's figures: shares add up, agree with plain counting, and stay small."""

import numpy as np
import pytest

from npexplore.errors import InputError
from npexplore.packets import CaptureScan, PacketTable, read_capture
from npexplore.packets.statistics import (
    CaptureCounts,
    FlowCounter,
    GapCounter,
    LengthCounter,
    count_capture,
    flow_table,
    tables,
)
from npexplore.packets.synthetic import Traffic, fixed_length, poisson_arrivals, uniform_lengths
from npexplore.paths import share

WIKIPEDIA = share("data", "captures", "zeek_wikipedia.pcap")


@pytest.fixture(scope="module")
def packets():
    return read_capture(WIKIPEDIA).columns


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    rng = np.random.default_rng(3)
    path = tmp_path_factory.mktemp("tables") / "made.pcap"
    Traffic.made(poisson_arrivals(20_000, 1e5, rng), uniform_lengths(40, 1500), rng).write(path)
    return path


def test_length_shares(packets):
    capture = read_capture(WIKIPEDIA)
    found = tables.length_shares(capture.length_cdf(), capture.length_cdf(layer="ip"))
    assert set(found["counted"]) == {"frames on the link", "IP packets", "bytes of IP packets"}
    assert found.groupby("counted")["share"].last().tolist() == [1.0, 1.0, 1.0]
    frames = found[found["counted"] == "frames on the link"].set_index("length_bytes")["share"]
    assert frames[66] == pytest.approx((packets["length"] <= 66).mean())
    ip = packets["l3_length"][packets["l3_length"] > 0].astype(int)
    carried = found[found["counted"] == "bytes of IP packets"].set_index("length_bytes")["share"]
    assert carried[52] == pytest.approx(ip[ip <= 52].sum() / ip.sum())


def test_rates_hold_all_packets_in_few_bins():
    found = tables.rate_table(count_capture(WIKIPEDIA)[0])
    bin_s = found["time_s"].iloc[1]
    assert bin_s == 2**24 * 1e-9
    assert (found["packets_per_s"] * bin_s).sum() == pytest.approx(136)
    assert (found["bits_per_s"] * bin_s).sum() == pytest.approx(8 * 25260)
    assert len(found) <= tables.POINTS + 1


def test_gaps_of_poisson_arrivals_are_exponential(made):
    gaps = GapCounter()
    for part in CaptureScan(made, chunk_packets=1000):
        gaps.add(part["t_ns"])
    found = tables.gap_shares(gaps)
    assert found["share"].iloc[-1] == 1
    assert np.abs(found["share"] - found["poisson"]).max() < 0.02


def test_variances_of_poisson_arrivals_fall_as_poisson(made):
    variance, found = tables.variances(count_capture(made)[0])
    assert found.low < 0.5 < found.high
    few = variance[variance["poisson"] > 1e-3]
    assert np.abs(np.log(few["variance"] / few["poisson"])).max() < 0.5
    assert tables.dispersions(count_capture(made)[0])["value"].iloc[:5].between(0.9, 1.1).all()


def test_ccdf():
    found = tables.ccdf(np.array([1, 1, 2, 5]))
    assert found["value"].tolist() == [1, 2, 5]
    assert found["share"].tolist() == [1.0, 0.5, 0.25]


def test_ccdf_of_many_values_is_short_and_keeps_both_ends():
    found = tables.ccdf(np.arange(1, 10_001))
    assert len(found) <= tables.POINTS
    assert found.iloc[0].tolist() == [1, 1.0]
    assert found.iloc[-1].tolist() == [10_000, 1e-4]
    assert found["share"].tolist() == pytest.approx(((10_001 - found["value"]) / 10_000).tolist())


def test_lorenz(packets):
    flows = flow_table(packets)
    found = tables.lorenz_curve(flows)
    assert found["bytes"].iloc[0] == pytest.approx(flows["bytes"].max() / flows["bytes"].sum())
    assert found.iloc[-1].tolist() == [1.0, 1.0]


def test_hit_ratios_rise_with_the_cache_and_with_shorter_prefixes(packets):
    found = tables.hit_ratio_table(packets)
    addresses = found[found["key"] == "addresses"]
    distinct = len(np.unique(packets["dst"][packets["ipv4"]])) + len(np.unique(packets.ipv6.destination, axis=0))
    ip = packets["ipv4"] | packets["ipv6"]
    assert addresses["hit_ratio"].is_monotonic_increasing
    assert addresses["entries"].iloc[-1] == distinct
    assert addresses["hit_ratio"].iloc[-1] == pytest.approx(1 - distinct / ip.sum())
    assert (
        found.groupby("key")["hit_ratio"]
        .first()[["addresses", "/24 and /48 prefixes", "/16 and /32 prefixes"]]
        .diff()
        .dropna()
        >= 0
    ).all()


def test_trains_get_longer_with_the_gap(packets):
    means = tables.train_shares(packets).groupby("gap_s")["mean"].first()
    assert means.is_monotonic_increasing
    assert means.index.tolist() == list(tables.TRAIN_GAPS_S)


def test_shares_of_each_kind_are_whole():
    counts, scan = count_capture(WIKIPEDIA)
    found = tables.shares(counts.document("x", scan.format, None))
    assert found.groupby("kind")["share"].sum().tolist() == pytest.approx([1.0] * 4)
    named = found.set_index(["kind", "name"])["packets"]
    assert named["IPv4 protocol", "TCP"] + named["IPv4 protocol", "UDP"] == 121


def test_rare_names_are_joined():
    fields = dict.fromkeys(("ipv4", "ipv6", "arp", "other", "checksum_good", "checksum_bad", "checksum_unverified"), 0)
    found = tables.shares({**fields, "dscp": {}, "ip_proto": {str(n): 1 for n in range(190, 200)} | {"6": 500}})
    assert found["name"].tolist()[0] == "TCP"
    assert len(found) == 6
    assert found["name"].tolist()[-1] == "6 more"


def test_names():
    assert [tables.protocol_names()[n] for n in (1, 6, 17)] == ["ICMP", "TCP", "UDP"]
    assert [tables.dscp_names()[n] for n in (0, 10, 38, 46, 56)] == ["CS0", "AF11", "AF43", "EF", "CS7"]


def test_narrow_shares(tmp_path):
    rng = np.random.default_rng(1)
    Traffic.made(poisson_arrivals(100, 1e5, rng), fixed_length(128 - 14), rng).write(tmp_path / "even.pcap")
    found = tables.narrow_shares(count_capture(tmp_path / "even.pcap")[0]).set_index("cell_bytes")["share"]
    assert found[64] == 0
    assert found[128] == 0
    assert found[96] == pytest.approx(0.5)


NOTHING = LengthCounter().cdf()


@pytest.mark.parametrize(
    "ask",
    [
        lambda: tables.length_shares(NOTHING, NOTHING),
        lambda: tables.rate_table(CaptureCounts()),
        lambda: tables.gap_shares(GapCounter()),
        lambda: tables.hit_ratio_table(PacketTable.empty()),
        lambda: tables.train_shares(PacketTable.empty()),
        lambda: tables.talkers(FlowCounter()),
        lambda: tables.narrow_shares(CaptureCounts()),
    ],
)
def test_of_nothing_there_is_no_table(ask):
    with pytest.raises(InputError):
        ask()
