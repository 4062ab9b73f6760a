"""What is counted chunk by chunk in bounded memory equals what the whole packet table says."""

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from reference import capture_files as make
from reference.capture_strategies import erfs, pcapngs, pcaps

from npexplore._kernels.capture_records import NO_TIME
from npexplore.packets import CaptureScan, read_capture
from npexplore.packets.statistics import (
    FlowCounter,
    GapCounter,
    LengthCounter,
    flow_counter,
    flow_table,
    interarrivals,
    top_talkers,
)
from npexplore.packets.statistics.endpoints import endpoints
from npexplore.packets.statistics.gaps import BINS, bins_of

captures = st.one_of(pcaps(), pcapngs(), erfs())


@given(captures, st.integers(1, 4), st.sampled_from([0, 2, 1 << 20]))
def test_flows_of_chunks_are_the_flows_of_the_table(data, chunk, merge):
    before, flow_counter.MERGE_FLOWS = flow_counter.MERGE_FLOWS, merge
    try:
        counter = FlowCounter()
        for part in CaptureScan(io.BytesIO(data), chunk_packets=chunk):
            counter.add(part)
        found = counter.flows()
    finally:
        flow_counter.MERGE_FLOWS = before
    table = read_capture(io.BytesIO(data)).columns
    expected, names = flow_table(table), endpoints(table)
    for end in ("src", "dst"):
        found[end], expected[end] = counter.endpoints().text(found[end]), names.text(expected[end])
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    assert counter.packets == len(names.rows)


@given(captures, st.sampled_from(["src", "dst"]))
def test_talkers_of_chunks_are_the_talkers_of_the_table(data, end):
    counter, table = FlowCounter(), read_capture(io.BytesIO(data)).columns
    for part in CaptureScan(io.BytesIO(data), chunk_packets=2):
        counter.add(part)
    by_address = [
        frame.set_index("address")["bytes"].to_dict()
        for frame in (counter.talkers(99, end), top_talkers(table, 99, end=end))
    ]
    assert by_address[0] == by_address[1]


def test_more_flows_than_fit_are_a_sample_and_the_largest(monkeypatch):
    monkeypatch.setattr(flow_counter, "MERGE_FLOWS", 5_000)
    rng = np.random.default_rng(1)
    flow = np.minimum(rng.pareto(0.7, 300_000) * 40, 5e4).astype(np.int64)
    exact, counter = FlowCounter(), FlowCounter(most_flows=2_000)
    for first in range(0, len(flow), 20_000):
        part = udp_packets(flow[first : first + 20_000])
        exact.add(part)
        counter.add(part)
    every, known = exact.flows(), counter.flows()
    assert len(every) > 5_000
    assert len(known) <= 2_000
    assert counter.sampled > 1
    assert abs(counter.count - exact.count) < 5 * exact.count / np.sqrt(len(counter.sample()))
    told, half = (int(part.replace(",", "")) for part in counter.count_text.split(" ± "))
    assert 0 < half < 0.2 * told
    assert abs(told - exact.count) <= 2 * half
    assert exact.count_text == f"{exact.count:,}"
    assert (known["packets"] * known["weight"]).sum() == pytest.approx(every["packets"].sum(), rel=0.1)
    largest = every.nlargest(100, "bytes").set_index("src")["bytes"]
    estimate = known.set_index("src")["bytes"].reindex(largest.index)
    assert (estimate <= largest).all()
    assert (estimate >= largest - counter.lacking).all()
    mice = [(flows["packets"] == 1).mean() for flows in (every, counter.sample())]
    assert mice[0] == pytest.approx(mice[1], abs=5 * np.sqrt(0.25 / len(counter.sample())))


def udp_packets(source):
    """Return the packet table of UDP packets from numbered sources to one host."""
    packet = make.ethernet(make.ipv4(make.udp()))
    rows = np.tile(np.frombuffer(packet, np.uint8), (len(source), 1))
    rows[:, 26:30] = (10 << 24 | source)[:, None] >> np.array([24, 16, 8, 0]) & 255
    head = np.zeros((len(source), 4), "<u4")
    head[:, 2:] = len(packet)
    records = np.hstack([head.view(np.uint8), rows])
    (table,) = CaptureScan(io.BytesIO(make.pcap_header() + records.tobytes()))
    return table


times = st.lists(st.one_of(st.integers(0, 300), st.integers(0, 2**62), st.just(NO_TIME)), max_size=60)


@given(times, st.integers(1, 60))
@example([0, 1 << 62, 0, 1 << 62], 1)
def test_gaps_of_chunks_are_the_gaps_in_order(values, chunk):
    t_ns = np.array(values, np.int64)
    counter = GapCounter()
    for start in range(0, len(t_ns), chunk):
        counter.add(t_ns[start : start + chunk])
    timed = t_ns[t_ns != NO_TIME]
    gaps = np.diff(timed)[np.diff(timed) >= 0]
    longest, packets = counter.histogram()
    assert packets.sum() == len(gaps)
    assert counter.total_ns == sum(gaps.tolist())
    for value, upto in zip(longest.tolist(), packets.cumsum().tolist(), strict=True):
        assert (gaps <= value).sum() == upto
    assert set(longest.tolist()) <= set(gaps.tolist())
    if (np.diff(timed) >= 0).all():
        assert sum(gaps.tolist()) == sum(interarrivals(t_ns).tolist())


@given(st.lists(st.one_of(st.integers(0, 2**63 - 1), st.integers(0, 62).map(lambda k: 2**k)), min_size=1))
def test_bins_of_gaps_are_in_order_and_narrow(values):
    gaps = np.sort(np.array(values, np.int64))
    at = bins_of(gaps)
    assert 0 <= at.min() <= at.max() < BINS
    assert (np.diff(at) >= 0).all()
    same = np.flatnonzero(np.diff(at) == 0)
    assert (np.diff(gaps)[same] <= gaps[same] / 64 + 1).all()


@given(st.lists(st.one_of(st.integers(0, 100), st.integers(65_000, 2**32 - 1)), max_size=50), st.integers(1, 50))
def test_lengths_of_chunks_are_the_lengths(values, chunk):
    lengths = np.array(values, np.uint32)
    counter = LengthCounter()
    for start in range(0, len(lengths), chunk):
        counter.add(lengths[start : start + chunk])
    found = counter.cdf()
    expected, counts = np.unique(lengths, return_counts=True)
    assert found.length_bytes.tolist() == expected.tolist()
    assert found.packets.tolist() == counts.tolist()
    assert found.share.tolist() == (np.cumsum(counts) / max(1, len(values))).tolist()
