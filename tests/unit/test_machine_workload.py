"""Workloads: one packet length, a mix, or a capture's IP packets; arrivals and rates; what cannot be is refused."""

import numpy as np
import pytest

from npexplore.designs import design
from npexplore.errors import InputError, UnknownNameError
from npexplore.machine.workload import Workload
from npexplore.machine.workload_sources import workload
from npexplore.packets import read_capture
from npexplore.packets.synthetic import Traffic, fixed_length, periodic_arrivals
from npexplore.paths import share
from npexplore.rows.distributions import Batch, OnOff
from npexplore.study.sweeping.grid import grid
from npexplore.study.sweeping.samples import sample
from npexplore.units import readable

CAPTURE = share("data", "captures", "zeek_wikipedia.pcap")


def test_one_packet_length():
    made = workload(packet_bytes=64)
    assert made.packet_bytes.tolist() == [64]
    assert (made.arrivals, made.rate_pps, made.mean_packet_bytes) == ("saturated", None, 64)


def test_a_capture_gives_its_ip_packets_in_order():
    columns = read_capture(CAPTURE).columns
    lengths = columns["l3_length"][columns["l3_length"] > 0]
    assert 0 < len(lengths) < len(columns["l3_length"])
    made = workload(CAPTURE)
    assert made.packet_bytes.tolist() == lengths.tolist()
    assert made.ordered
    assert made.t_ns.min() == 0
    assert f"{len(columns['l3_length']) - len(lengths)} of" in made.note


def test_distinct_packets_and_their_shares():
    columns = {"packet_bytes": np.array([64, 40, 64, 64]), "words": np.array([1, 1, 1, 2])}
    distinct, shares = Workload("w", columns).distinct()
    assert distinct["packet_bytes"].tolist() == [40, 64, 64]
    assert distinct["words"].tolist() == [1, 1, 2]
    assert shares.tolist() == [0.25, 0.5, 0.25]


@pytest.mark.parametrize(
    ("rate", "pps"),
    [
        ("2.5Mpps", 2.5e6),
        ("4Gb/s", 4e9 / 512),
        ("5Gbps", 5e9 / 512),
        ("1.2Mbit/s", 1.2e6 / 512),
        ("640kb/s", 1250),
        (1000.0, 1000.0),
        (7, 7.0),
    ],
)
@pytest.mark.parametrize("arrivals", ["poisson", "periodic"])
def test_rates(rate, pps, arrivals):
    made = workload(packet_bytes=64, arrivals=arrivals, rate=rate)
    assert made.rate_pps == pytest.approx(pps)
    assert readable(pps, "packets/s") in repr(made)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "a workload needs one of trace, mix, packet_bytes, frame_bytes; got none"),
        ({"mix": "amp", "packet_bytes": 64}, "got mix and packet_bytes"),
        ({"packet_bytes": 0}, "packet_bytes must be greater than 0 and finite, got 0"),
        ({"packet_bytes": -64}, "packet_bytes must be greater than 0 and finite, got -64"),
        ({"packet_bytes": 64.5}, "packet_bytes must be a whole number, got 64.5"),
        ({"packet_bytes": 10**20}, "packet_bytes must be at most 4294967335, got 100000000000000000000"),
        (
            {"packet_bytes": 64, "arrivals": "poisson", "rate": "1e15Gb/s"},
            "workload '64 bytes': rate must be above 0 and at most 100000 Mpps, got 1.95312e+15 Mpps",
        ),
        ({"packet_bytes": 64, "arrivals": "poisson"}, "arrivals 'poisson' need a rate (for example 2.5Mpps)"),
        ({"packet_bytes": 64, "arrivals": "poison"}, "arrivals 'poison' is unknown (nearest: poisson"),
        ({"packet_bytes": 64, "arrivals": "timestamps"}, "has no time stamps; choose saturated, poisson or periodic"),
        ({"trace": "nowhere.pcap", "rate": "1Mpps"}, "a rate needs"),  # before it is looked for
        ({"packet_bytes": 64, "rate": "1Mpps"}, "a rate needs poisson or periodic arrivals, or timestamps"),
        ({"packet_bytes": 64, "arrivals": "poisson", "rate": "-1Mpps"}, "rate must be greater than 0, got '-1Mpps'"),
        ({"packet_bytes": 64, "arrivals": "poisson", "rate": -1.0}, "rate must be greater than 0 and finite, got -1.0"),
        ({"packet_bytes": 64, "arrivals": "poisson", "rate": "3ms"}, "rate must be in packets or bits per second"),
        ({"packet_bytes": 64, "arrivals": "poisson", "rate": "fast"}, "rate must be a number with a unit such as"),
        ({"packet_bytes": 64, "arrivals": "batch:4"}, "arrivals 'batch' need a rate"),
        (
            {"packet_bytes": 64, "arrivals": "batch", "rate": 1.0},
            "given as batch:SIZE or batch:SIZE:geometric, got",
        ),
        ({"packet_bytes": 64, "arrivals": "batch:0", "rate": 1.0}, "batch:SIZE or batch:SIZE:geometric, got 'batch:0'"),
        ({"packet_bytes": 64, "arrivals": "batch:4:normal", "rate": 1.0}, "got 'batch:4:normal'"),
        ({"packet_bytes": 64, "arrivals": "poisson:4", "rate": 1.0}, "are given as poisson alone, got 'poisson:4'"),
        ({"packet_bytes": 64, "arrivals": "on_off:2ms", "rate": 1.0}, "on_off:ON:OFF with times such as 2ms"),
        (
            {"packet_bytes": 64, "arrivals": "on_off:2ms:4", "rate": 1.0},
            "span of on_off arrivals must be a time",
        ),
        ({"packet_bytes": 64, "arrivals": "on_off:0ms:4ms", "rate": 1.0}, "must be a time above 0 such as 2ms or 5us"),
        ({"trace": "nowhere.pcap"}, "nowhere.pcap"),
    ],
)
def test_workloads_that_cannot_be_are_refused(options, message):
    with pytest.raises((InputError, UnknownNameError)) as error:
        workload(**options)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"packet_bytes": np.array([], dtype=np.int64)}, "workload 'w' has no packets"),
        ({"packet_bytes": np.array([64, 0])}, "workload 'w' has a packet of 0 bytes; at least 1 is needed"),
        ({"packet_bytes": np.array([64, 65]), "words": np.array([1])}, "column 'words' has 1 rows, not 2"),
    ],
)
def test_columns_that_cannot_be_are_refused(columns, message):
    with pytest.raises(InputError) as error:
        Workload("w", columns)
    assert message in str(error.value)


def test_a_rate_is_kept_from_poisson_to_periodic():
    made = workload(packet_bytes=64, arrivals="poisson", rate="1Mpps").with_arrivals("periodic")
    assert (made.arrivals, made.rate_pps) == ("periodic", 1e6)


def test_four_ways_to_take_a_capture():
    lengths_with_order = workload(CAPTURE)
    lengths_only = lengths_with_order.shuffled()
    stamped = workload(CAPTURE, arrivals="timestamps")
    half = stamped.scaled(0.5)
    assert (lengths_with_order.arrivals, lengths_with_order.ordered) == ("saturated", True)
    assert (lengths_only.arrivals, lengths_only.ordered) == ("saturated", False)
    assert np.abs(half.t_ns - stamped.t_ns / 2).max() <= 0.5
    assert all(w.packet_bytes.tolist() == stamped.packet_bytes.tolist() for w in (lengths_with_order, half))
    assert len({w.key for w in (lengths_with_order, lengths_only, stamped, half)}) == 4


def test_scaling_changes_what_a_machine_is_offered():
    machine = design("ixp2400")
    stamped = workload(CAPTURE, arrivals="timestamps")
    slow, fast = machine.simulate(stamped), machine.simulate(stamped.scaled(0.5))
    assert fast.offered_pps == pytest.approx(2 * slow.offered_pps, rel=1e-6)
    assert fast.rate_pps == pytest.approx(2 * slow.rate_pps, rel=0.05)


def test_scaling_a_rate():
    assert workload(packet_bytes=64, arrivals="poisson", rate=1000.0).scaled(0.5).rate_pps == 2000


def test_bursts():
    load = workload(packet_bytes=64, arrivals="batch:8:geometric", rate="2Mpps")
    assert load.process() == Batch(rate=2e6, size=8, sizes="geometric")
    assert "at 2 Mpps in geometric batches of 8" in repr(load)
    spans = load.with_arrivals("on_off:2ms:6ms")
    assert spans.process() == OnOff(rate=2e6, on=0.002, off=0.006)
    assert spans.scaled(0.5).process() == OnOff(rate=4e6, on=0.001, off=0.003)
    assert "2 ms on and 6 ms off" in repr(spans)
    others = ["batch:8", "batch:7:geometric", "on_off:2ms:6ms", "on_off:3ms:6ms", "poisson", "saturated"]
    assert len({load.key, *(load.with_arrivals(how).key for how in others)}) == 7
    assert load.with_arrivals("saturated").process() is None
    with pytest.raises(InputError, match="arrivals 'batch' need their batch:SIZE"):
        Workload("w", {"packet_bytes": np.array([64])}, "batch", rate_pps=1.0)


def test_synthetic_traffic_is_a_workload():
    rng = np.random.default_rng(1)
    traffic = Traffic.made(periodic_arrivals(10, 1e6) + 5000, fixed_length(100), rng)
    made = workload(traffic, arrivals="timestamps")
    assert made.packet_bytes.tolist() == [100] * 10
    assert made.t_ns.tolist() == (traffic.t_ns - 5000).tolist()
    with pytest.raises(InputError, match="at least one packet"):
        workload(Traffic.made(periodic_arrivals(0, 1e6), fixed_length(100), rng))


def test_a_capture_in_memory_is_the_same_workload():
    assert workload(read_capture(CAPTURE)) == workload(CAPTURE)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: workload(CAPTURE).scaled(0.5), "saturated arrivals, without times to scale"),
        (lambda: workload(CAPTURE, arrivals="timestamps").scaled(0), "factor of time must be greater than 0"),
        (
            lambda: workload(CAPTURE, arrivals="timestamps").scaled(1e12),
            "factor of time must leave time stamps within",
        ),
        (lambda: workload(CAPTURE, arrivals="timestamps").shuffled(), "time stamps, which keep the packets in order"),
    ],
)
def test_orders_and_times_that_cannot_be(ask, message):
    with pytest.raises(InputError, match=message):
        ask()


def test_time_stamps_that_step_back_arrive_in_order_of_time():
    lengths, t_ns = np.array([40, 50, 60, 70]), np.array([0, 2000, 1000, 2000])
    made = Workload("w", {"packet_bytes": lengths}, t_ns=t_ns)
    timed = made.with_arrivals("timestamps")
    assert timed.t_ns.tolist() == [0, 1000, 2000, 2000]
    assert timed.packet_bytes.tolist() == [40, 60, 50, 70]
    assert made.with_arrivals("saturated").packet_bytes.tolist() == lengths.tolist()


@pytest.mark.parametrize(
    ("source", "name", "bytes_"),
    [
        (64, "64 bytes", 64),
        (np.int64(64), "64 bytes", 64),
        (64.0, "64 bytes", 64),
        ("64 B", "64 bytes", 64),
        ("1 KB", "1024 bytes", 1024),
        ("amp", "amp", 718.6),
        (CAPTURE, CAPTURE.name, 181.7),
        (str(CAPTURE), CAPTURE.name, 181.7),
        ("sample:zeek_wikipedia", "sample:zeek_wikipedia", 181.7),
        ([CAPTURE], CAPTURE.name, 181.7),
    ],
)
def test_what_describes_packets_is_a_workload_wherever_one_is_taken(source, name, bytes_):
    made = workload(source)
    assert (made.name, made.mean_packet_bytes) == (name, pytest.approx(bytes_, rel=1e-4))
    machine = design("smartnic")
    assert machine.bounds(source) == machine.bounds(made)
    assert machine.workload(source) == made
    assert machine.depends_on(source) == machine.depends_on(made)
    points = [*grid("smartnic", source if not isinstance(source, list) else [source], solver="bounds"),
              *sample("smartnic", [source], n=1, solver="bounds", cores=[2])]  # fmt: skip
    assert [point.workload for point in points] == [made, made]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("ampp", r"a workload must be a packet length \(64, '64 B'\), a capture file, or a mix \(amp, dos, "),
        ("64", "a workload must be a packet length"),
        ("3 Mpps", r"packet_bytes must be in bytes or another unit of bytes, got '3 Mpps' \(packet rate\)"),
        ("none.pcap", "none.pcap: cannot be read"),
        (True, "a workload must be a packet length, the name of a mix, .*; got bool True"),
        ({}, "got dict"),
        (object(), "got object"),
        (1.5, "packet_bytes must be a whole number, got 1.5"),
    ],
)
def test_what_describes_no_packets_is_refused_with_what_is_accepted(source, message):
    for ask in (workload, design("smartnic").bounds, design("smartnic").explain):
        with pytest.raises(InputError, match=message):
            ask(source)


def test_a_length_may_be_a_text_with_its_unit():
    assert workload(packet_bytes="64 B") == workload(packet_bytes=64) == workload(packet_bytes="0.0625 KB")
    with pytest.raises(InputError, match=r"packet_bytes must be a number in bytes, got '64'"):
        workload(packet_bytes="64")


def test_a_mix_of_one_s_own_is_a_file(tmp_path):
    path = tmp_path / "mine.toml"
    parts = "[[component]]\nlow = {0}\nhigh = {0}\nshare = {1}\n"
    path.write_text('name = "mine"\ntitle = "halves"\n' + parts.format(64, 0.5) + parts.format(1500, '"rest"'))
    for mine in (workload(mix=str(path)), workload(str(path))):
        assert mine.mean_packet_bytes == pytest.approx(782)
        assert mine.name == "mine"
    path.write_text('name = "mine"\ntitle = "too many"\n' + parts.format(64, 1.5))
    with pytest.raises(InputError, match=r"a share must be in \[0, 1\], got 1.5"):
        workload(mix=str(path))
    with pytest.raises(InputError, match=r"nowhere\.toml: No such file"):
        workload(mix="nowhere.toml")


def test_frames_are_eighteen_bytes_longer_than_their_packets_and_at_least_64():
    load = workload(frame_bytes=64)
    assert (load.name, load.packet_bytes.tolist()) == ("frames of 64 bytes", [46])
    assert workload(frame_bytes="1518 B").packet_bytes.tolist() == [1500]
    with pytest.raises(InputError, match="frame_bytes must be at least 64"):
        workload(frame_bytes=63)
