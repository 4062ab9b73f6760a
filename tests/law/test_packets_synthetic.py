"""Made traffic has the statistics it was asked for."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from npexplore.errors import InputError
from npexplore.machine.mixes import load_mix, mix_names
from npexplore.packets import read_capture
from npexplore.packets.statistics import hurst, interarrivals
from npexplore.packets.statistics.locality import locality
from npexplore.packets.synthetic import (
    LengthMix,
    Traffic,
    fit_lengths,
    fixed_length,
    on_off_arrivals,
    packet_trains,
    periodic_arrivals,
    poisson_arrivals,
    uniform_lengths,
    zipf_destinations,
)  # fmt: skip
from npexplore.paths import share

lengths = st.integers(28, 1500)
mixes = st.dictionaries(lengths, st.floats(0.01, 100), min_size=1, max_size=8).map(LengthMix.of)
seeds = st.integers(0, 2**32)


@given(mixes, st.integers(1, 500), seeds)
def test_shuffled_lengths_have_the_shares_to_the_packet(mix, count, seed):
    made = mix.shuffled(count, np.random.default_rng(seed))
    assert len(made) == count
    for length, part in zip(mix.length_bytes, mix.share, strict=True):
        assert abs((made == length).sum() - part * count) < 1 + 1e-9
    assert abs(made.mean() - mix.mean) <= mix.length_bytes.max() * len(mix.length_bytes) / count


@given(st.integers(28, 100), st.integers(1000, 1500), st.floats(0.05, 0.9), st.floats(0.02, 0.98), seeds)
def test_bimodal_fit_meets_share_and_mean(low, high, below, position, seed):
    # means between "the rest is all in the middle" and "the rest is all in the high mode" can be met exactly
    middle = uniform_lengths(low + 1, high - 1)
    least, most = (below * low + (1 - below) * rest for rest in (middle.mean, high))
    mean = least + position * (most - least)
    mix = fit_lengths([fixed_length(low), fixed_length(high), middle], mean=mean, shares={low: below})
    assert mix.residual < 1e-5
    assert mix.mean == pytest.approx(mean, rel=1e-5)
    assert mix.share_up_to(low) == pytest.approx(below, rel=1e-5)
    sample = mix.sample(20_000, np.random.default_rng(seed))
    assert abs(sample.mean() - mean) < 6 * 750 / 20_000**0.5


@given(st.floats(0.3, 0.9))
def test_facts_that_exclude_each_other_leave_a_residual(below):
    mix = fit_lengths([fixed_length(40), fixed_length(1500)], mean=1499, shares={40: below})
    assert mix.residual > 0.05
    assert mix.share.sum() == pytest.approx(1)


@given(st.integers(2, 2000), st.floats(1, 1e8))
def test_periodic_distances(count, rate):
    gaps = np.diff(periodic_arrivals(count, rate))
    assert abs(gaps - 1e9 / rate).max() <= 1 + 1e-6 * 1e9 / rate


@given(st.floats(10, 1e7), seeds)
def test_poisson_rate_and_variation(rate, seed):
    gaps = interarrivals(poisson_arrivals(20_000, rate, np.random.default_rng(seed))) / 1e9
    assert gaps.mean() * rate == pytest.approx(1, abs=0.05)
    assert gaps.std() / gaps.mean() == pytest.approx(1, abs=0.06)


@given(st.floats(1, 30), st.floats(0, 0.9), seeds)
def test_trains_keep_the_rate_and_their_length(mean, tightness, seed):
    rate = 1000.0
    gap = tightness / rate
    times = packet_trains(50_000, rate, mean, gap, np.random.default_rng(seed))
    assert (len(times) - 1) / ((times[-1] - times[0]) / 1e9) == pytest.approx(rate, rel=0.15)
    if gap > 0 and mean > 2:
        inside = np.abs(np.diff(times) - gap * 1e9) <= 1
        assert 1 - inside.mean() == pytest.approx(1 / mean, rel=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("wanted", [0.6, 0.75, 0.9])
def test_on_off_sources_have_the_hurst_parameter_asked_for(wanted):
    rng = np.random.default_rng(9)
    found = []
    for _ in range(5):
        times = on_off_arrivals(1_000_000, 1e5, wanted, rng)
        assert (np.diff(times) >= 0).all()
        per_millisecond = np.bincount(times // 1_000_000)
        # a burst is 1 ms on average; the estimate uses 32 ms and more
        found.append(hurst(per_millisecond[1:-1], first_octave=5).hurst)
    assert np.mean(found) == pytest.approx(wanted, abs=0.1)


def test_on_off_rate():
    rng = np.random.default_rng(4)
    rates = [len(times) / (times[-1] / 1e9) for times in (on_off_arrivals(300_000, 5e4, 0.7, rng) for _ in range(5))]
    assert np.mean(rates) == pytest.approx(5e4, rel=0.05)


prefix_lists = st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(1, 32)), min_size=1, max_size=30).map(
    lambda rows: sorted({(value >> (32 - bits) << (32 - bits), bits) for value, bits in rows})
)


@given(prefix_lists, st.floats(0, 2), seeds)
def test_zipf_destinations_lie_inside_the_prefixes(nets, exponent, seed):
    value, length = np.array([v for v, _ in nets], np.uint32), np.array([b for _, b in nets], np.uint8)
    made = zipf_destinations(value, length, 200, exponent, np.random.default_rng(seed))
    masks = (0xFFFFFFFF << (32 - length.astype(np.int64))) & 0xFFFFFFFF
    assert all((int(address) & masks == value).any() for address in made)


def test_zipf_popularity_and_locality():
    rng = np.random.default_rng(1)
    value, length = np.arange(1000, dtype=np.uint32) << np.uint32(16), np.full(1000, 32, np.uint8)
    ratio = {}
    for exponent in (0.0, 0.8, 1.2):
        made = zipf_destinations(value, length, 50_000, exponent, rng)
        counts = np.sort(np.unique(made, return_counts=True)[1])[::-1]
        weight = np.arange(1, 1001) ** -exponent
        assert counts[0] / 50_000 == pytest.approx(weight[0] / weight.sum(), rel=0.5 if exponent == 0 else 0.1)
        ratio[exponent] = locality(made).hit_ratio(100)
    assert ratio[0.0] == pytest.approx(0.1, abs=0.02)
    assert ratio[0.0] < ratio[0.8] < ratio[1.2]


@given(mixes, st.integers(1, 60), st.sampled_from(["pcap", "pcap-ns", "pcapng"]), seeds)
def test_written_traffic_is_read_back(tmp_path_factory, mix, count, form, seed):
    rng = np.random.default_rng(seed)
    traffic = Traffic.made(poisson_arrivals(count, 1e6, rng), mix, rng)
    path = tmp_path_factory.mktemp("made") / "made.pcap"
    traffic.write(path, form=form, start_ns=10**18)
    columns = read_capture(path).columns
    assert columns["l3_length"].tolist() == traffic.packet_bytes.tolist()
    assert columns["length"].tolist() == np.maximum(60, traffic.packet_bytes + 14).tolist()
    assert columns["checksum_good"].all()
    assert columns["src"].tolist() == traffic.src.tolist()
    assert columns["dst"].tolist() == traffic.dst.tolist()
    tick = 1000 if form == "pcap" else 1
    assert columns["t_ns"].tolist() == ((traffic.t_ns + 10**18) // tick * tick).tolist()
    again = Traffic.of_capture(read_capture(path))
    assert again.packet_bytes.tolist() == traffic.packet_bytes.tolist()


@given(st.floats(0.01, 100))
def test_scaling_time_scales_the_rate(factor):
    traffic = Traffic.of_capture(read_capture(share("data", "captures", "zeek_wikipedia.pcap")))
    assume(traffic.t_ns[0] == 0)
    scaled = traffic.scaled(factor)
    assert np.abs(scaled.t_ns - traffic.t_ns * factor).max() <= 0.5 + 1e-3
    assert scaled.packet_bytes.tolist() == traffic.packet_bytes.tolist()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda rng: LengthMix.of({}), "a mix needs lengths"),
        (lambda rng: LengthMix.of({0: 1}), "a mix needs lengths"),
        (lambda rng: LengthMix.of({60: -1}), "a mix needs lengths"),
        (lambda rng: fit_lengths([fixed_length(40)]), "at least one component and one fact"),
        (lambda rng: fit_lengths([fixed_length(40)], mean=-1), "mean length must be greater"),
        (lambda rng: fit_lengths([fixed_length(40)], shares={40: 2}), "must be 0 to 1"),
        (lambda rng: poisson_arrivals(5, 0, rng), "rate must be greater than 0"),
        (lambda rng: packet_trains(5, 1000, 10, 0.01, rng), r"cannot come at 1000 packets/s: at most 111\.111"),
        (lambda rng: packet_trains(5, 1000, 0.5, 0, rng), "at least 1"),
        (lambda rng: on_off_arrivals(5, 1000, 0.5, rng), "above 0.5 and below 1"),
        (
            lambda rng: zipf_destinations(np.empty(0, np.uint32), np.empty(0, np.uint8), 5, 1, rng),
            "at least one prefix",
        ),
        (lambda rng: Traffic.made(np.zeros(1, np.int64), fixed_length(20), rng), "must be 28 to 65535"),
        (
            lambda rng: Traffic.of_capture(read_capture(share("data", "captures", "tcpdump_ISIS_p2p_adjacency.pcap"))),
            "has no IPv4 packet",
        ),
    ],
)
def test_impossible_traffic_is_refused(make, words):
    with pytest.raises(InputError, match=words):
        make(np.random.default_rng(0))


@pytest.mark.parametrize("name", mix_names())
def test_every_published_mix_becomes_packets_with_its_shares(name, tmp_path):
    mix, rng = load_mix(name), np.random.default_rng(5)
    made = mix.length_mix()
    assert made.mean == pytest.approx(np.arange(len(mix.probability)) @ mix.probability)
    Traffic.made(poisson_arrivals(20_000, 1e6, rng), made, rng).write(tmp_path / "made.pcap")
    found = read_capture(tmp_path / "made.pcap").length_cdf(layer="ip")
    shares = dict(zip(found.length_bytes.tolist(), (found.packets / 20_000).tolist(), strict=True))
    for length, wanted in zip(made.length_bytes.tolist(), made.share.tolist(), strict=True):
        assert abs(shares.get(length, 0.0) - wanted) < 1 / 20_000 + 1e-12
