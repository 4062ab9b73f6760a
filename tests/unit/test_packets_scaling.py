"""Burstiness over scales, talkers, and the errors of the statistics that need the whole table."""

import io

import numpy as np
import pytest
from reference import capture_files as make

from npexplore._kernels.capture_headers import HEADER, IPV4
from npexplore.errors import InputError, UnknownNameError
from npexplore.packets import PacketTable, read_capture
from npexplore.packets.columns import STORED
from npexplore.packets.statistics import (
    destination_locality,
    elephants,
    flow_table,
    hurst,
    interarrivals,
    rate_over_time,
    top_talkers,
    train_lengths,
    variance_time,
)
from npexplore.packets.statistics.locality import locality
from npexplore.packets.statistics.scaling import gamma_derivatives
from npexplore.paths import share


def gaussian_noise(h, n, rng):
    """Fractional Gaussian noise by circulant embedding (Davies, Harte, Biometrika 74(1), 1987)."""
    k = np.arange(n + 1)
    covariance = 0.5 * ((k + 1.0) ** (2 * h) - 2.0 * k ** (2 * h) + np.abs(k - 1.0) ** (2 * h))
    spectrum = np.fft.fft(np.concatenate([covariance, covariance[-2:0:-1]])).real.clip(0)
    z = rng.normal(size=2 * n) + 1j * rng.normal(size=2 * n)
    return np.fft.fft(np.sqrt(spectrum / (2 * n)) * z).real[:n]


@pytest.mark.parametrize("h", [0.5, 0.7, 0.9])
def test_hurst_parameter_of_noise_made_with_it(h):
    rng = np.random.default_rng(11)
    inside = 0
    for _ in range(40):
        found = hurst(gaussian_noise(h, 1 << 14, rng))
        assert found.hurst == pytest.approx(h, abs=0.1)
        inside += found.low <= h <= found.high
    assert inside >= 34


def test_variance_time_slopes():
    rng = np.random.default_rng(12)
    for h in (0.5, 0.8):
        size, variance = variance_time(gaussian_noise(h, 1 << 16, rng))
        assert size.tolist()[:4] == [1, 2, 4, 8]
        assert variance[0] == 1
        assert np.polyfit(np.log(size[:8]), np.log(variance[:8]), 1)[0] == pytest.approx(2 * h - 2, abs=0.06)


@pytest.mark.parametrize("counts", [np.ones(1000, int), np.arange(20), np.array([], int)])
def test_hurst_needs_a_long_varying_series(counts):
    with pytest.raises(InputError, match="Hurst parameter needs a varying series"):
        hurst(counts)


def test_interarrivals_are_in_order_of_time():
    assert interarrivals(np.array([5, 1, -(2**63), 2], np.int64)).tolist() == [1, 3]


def capture(*packets):
    rows = [(0, 0, make.ethernet(make.ipv4(make.udp(), src=src, dst=dst)), size) for src, dst, size in packets]
    return read_capture(io.BytesIO(make.pcap(rows))).columns


def test_top_talkers():
    columns = capture((1, 9, 100), (2, 9, 60), (2, 9, 60), (2, 8, 60))
    by_bytes = top_talkers(columns)
    assert by_bytes["address"].tolist() == ["0.0.0.2", "0.0.0.1"]
    assert by_bytes["bytes"].tolist() == [180, 100]
    assert top_talkers(columns, 1, by="packets", end="dst").to_dict("records") == [
        {"address": "0.0.0.9", "packets": 3, "bytes": 220, "share": 0.75}
    ]


def test_elephants_of_one_large_and_many_small():
    flows = flow_table(capture((1, 2, 8000), *((n, 2, 60) for n in range(10, 20))))
    assert elephants(flows)["src"].tolist() == [1]
    assert len(elephants(flows, 1)) == 11


def test_real_capture_without_ip_has_no_flows():
    columns = read_capture(share("data", "captures", "tcpdump_ISIS_p2p_adjacency.pcap")).columns
    assert len(flow_table(columns, both_ways=True, timeout_s=5)) == 0
    assert len(top_talkers(columns)) == 0
    assert destination_locality(columns).hit_ratio(10) == 0
    assert len(train_lengths(columns, 1)) == 0


@pytest.mark.parametrize("gap_ns", [4_100_000_000, 100_000_000, 1_100_000_000, 16_100_000_000])
def test_a_gap_of_exactly_the_timeout_is_one_flow(gap_ns):
    one = {name: np.zeros(2, dtype) for name, dtype in STORED.items()}
    one["t_ns"], one["flags"] = np.array([0, gap_ns]), np.full(2, IPV4 | HEADER, np.uint16)
    table = PacketTable.of_records(one, np.array([1], np.uint16))
    assert len(flow_table(table, timeout_s=gap_ns / 1e9)) == 1
    assert len(flow_table(table, timeout_s=(gap_ns - 1) / 1e9)) == 2
    for longest_s in (9.3e9, 1e300):  # more nanoseconds than 64 bits hold: never
        assert (
            len(flow_table(table, timeout_s=longest_s, active_s=longest_s)) == len(train_lengths(table, longest_s)) == 1
        )
        assert rate_over_time(table["t_ns"], table["length"], longest_s).packets.tolist() == [2]


def test_wrong_arguments_name_themselves():
    columns = capture((1, 2, 60))
    with pytest.raises(InputError, match="flow timeout must be greater than 0"):
        flow_table(columns, timeout_s=0)
    with pytest.raises(InputError, match="share of the bytes"):
        elephants(flow_table(columns), 0)
    with pytest.raises(UnknownNameError, match="measure of talkers"):
        top_talkers(columns, by="size")
    with pytest.raises(InputError, match="prefix bits must be 0 to 32"):
        destination_locality(columns, prefix_bits=33)
    with pytest.raises(InputError, match="at least 0"):
        locality(np.array([1])).hit_ratio(-1)
    untimed = read_capture(
        io.BytesIO(make.section() + make.interface() + make.simple(make.ethernet(make.ipv4())))
    ).columns
    with pytest.raises(InputError, match="every packet has a time stamp"):
        flow_table(untimed, timeout_s=1)


def test_rate_over_time_at_any_bin():
    times, length = np.array([7, -(2**63), 3, 12, 13], np.int64), np.array([10, 5, 20, 40, 80], np.uint32)
    series = rate_over_time(times, length, 5e-9)
    assert (series.start_ns, series.width_ns) == (3, 5)
    assert series.packets.tolist() == [2, 1, 1]
    assert series.bytes.tolist() == [30, 40, 80]
    with pytest.raises(InputError, match="needs packets with time stamps"):
        rate_over_time(times[1:2], length[1:2], 1)
    with pytest.raises(InputError, match="at most 100,000,000"):
        rate_over_time(np.array([0, 10**18]), length[:2], 1e-6)
    with pytest.raises(InputError, match="bin must be greater than 0"):
        rate_over_time(times, length, 0)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 17, 1000, 65537])
def test_derivatives_of_the_gamma_function_are_those_of_scipy(n):
    from scipy.special import digamma, zeta

    assert gamma_derivatives(n) == pytest.approx((digamma(n / 2), zeta(2, n / 2)), rel=1e-9)
