"""Captures merged by time: the same packets in the order a plain merge gives, whatever the chunks."""

import io

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from reference import capture_files as make

from npexplore.packets.merging import merged
from npexplore.packets.scan import CaptureScan

times = st.lists(st.integers(0, 12), max_size=12)


def capture(number, stamps):
    """A capture whose packets tell their input and place."""
    return make.pcap([(0, t, bytes([number, k]) * (1 + k % 3), None) for k, t in enumerate(stamps)])


def plainly_merged(inputs):
    """Take the earliest head again and again; a packet is never before those in front of it in its file."""
    waiting = {number: list(enumerate(np.maximum.accumulate(t).tolist())) for number, t in enumerate(inputs) if t}
    out = []
    while waiting:
        number = min(waiting, key=lambda n: (waiting[n][0][1], n))
        out.append((number, waiting[number].pop(0)[0]))
        if not waiting[number]:
            del waiting[number]
    return out


@given(st.lists(times, min_size=1, max_size=4), st.lists(st.integers(1, 5), min_size=4, max_size=4))
def test_order_is_that_of_a_plain_merge(inputs, chunks):
    scans = [
        CaptureScan(io.BytesIO(capture(number, stamps)), chunk_packets=chunk)
        for (number, stamps), chunk in zip(enumerate(inputs), chunks, strict=False)
    ]
    got = []
    for part in merged(scans):
        rows = zip(part.source.tolist(), part.number.tolist(), strict=True)
        for row, (source, number) in enumerate(rows):
            got.append((source, number))
            start, size = int(part.offset[row]), int(part.captured[row])
            assert part.buffer[start : start + size].tobytes() == bytes([source, number]) * (1 + number % 3)
            assert part.t_ns[row] == inputs[source][number] * 1000
            assert (part.length[row], part.link_type[row]) == (size, 1)
    assert got == plainly_merged(inputs)


def test_packets_without_a_time_follow_the_one_before():
    timed = make.pcap([(5, 0, b"a", None)])
    timeless = (
        make.section() + make.interface() + make.simple(b"b") + make.enhanced(b"c", 9_000_000) + make.simple(b"d")
    )
    scans = [CaptureScan(io.BytesIO(data)) for data in (timed, timeless)]
    parts = list(merged(scans))
    order = [(s, n) for part in parts for s, n in zip(part.source.tolist(), part.number.tolist(), strict=True)]
    assert order == [(1, 0), (0, 0), (1, 1), (1, 2)]


def test_damage_leaves_the_packets_before_it():
    whole = capture(0, [1, 2, 3])
    scans = [CaptureScan(io.BytesIO(whole[:-1])), CaptureScan(io.BytesIO(capture(1, [2])))]
    assert sum(len(part) for part in merged(scans)) == 3
    assert scans[0].damage is not None
    assert scans[1].damage is None
