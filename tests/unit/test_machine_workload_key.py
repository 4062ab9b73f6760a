"""Workloads are known by what arrives, not by their name."""

from dataclasses import replace

import numpy as np
import pytest

from npexplore._kernels.capture_records import NO_TIME
from npexplore.errors import InputError
from npexplore.machine.workload import Workload
from npexplore.machine.workload_sources import of_columns, workload


def made(sizes=(40, 1500), **options):
    return Workload("any", {"packet_bytes": np.array(sizes, dtype=np.int64)}, **options)


def test_the_same_packets_are_the_same_workload_whatever_their_name():
    first, second = made(), replace(made(), name="other", note="seen")
    assert (first.key, first, hash(first)) == (second.key, second, hash(second))


@pytest.mark.parametrize(
    "other",
    [
        made((1500, 40)),
        made((40, 1500, 40)),
        made(ordered=False),
        made(arrivals="poisson", rate_pps=1e6),
        made(arrivals="periodic", rate_pps=1e6),
        made(arrivals="timestamps", t_ns=np.array([0, 5])),
        Workload("any", {"packet_bytes": np.array([40, 1500]), "words": np.array([1, 2])}),
    ],
)
def test_whatever_changes_the_answer_changes_the_key(other):
    assert other.key != made().key
    assert other != made()


def test_rates_and_times_count_only_where_they_drive_the_arrivals():
    assert made(arrivals="poisson", rate_pps=1e6) != made(arrivals="poisson", rate_pps=2e6)
    assert made(t_ns=np.array([0, 5])) == made(t_ns=np.array([0, 9]))
    timed = {"arrivals": "timestamps"}
    assert made(t_ns=np.array([0, 5]), **timed) != made(t_ns=np.array([0, 9]), **timed)


def test_distinct_packets_have_their_shares_in_one_column_and_in_two():
    columns, shares = made((40, 1500, 40, 40)).distinct()
    assert (columns["packet_bytes"].tolist(), shares.tolist()) == ([40.0, 1500.0], [0.75, 0.25])
    two = Workload("any", {"packet_bytes": np.array([40, 40, 40]), "words": np.array([1, 2, 1])})
    columns, shares = two.distinct()
    assert [column.tolist() for column in columns.values()] == [[40.0, 40.0], [1.0, 2.0]]
    assert shares.tolist() == pytest.approx([2 / 3, 1 / 3])
    columns.clear()
    assert set(two.distinct()[0]) == {"packet_bytes", "words"}


def test_going_back_to_saturated_forgets_the_rate():
    assert workload(mix="amp", arrivals="poisson", rate="1Mpps").with_arrivals("saturated").rate_pps is None


class Capture:
    def __init__(self, lengths, has_time=True, damage=None):
        n = len(lengths)
        self.columns = {"l3_length": np.array(lengths), "t_ns": np.arange(n) if has_time else np.full(n, NO_TIME)}
        self.damage, self.interfaces = damage, ()


def test_a_capture_tells_what_was_left_out_and_where_it_is_damaged():
    made_of = of_columns("x.pcap", Capture([0, 40, 1500], damage="record cut short at offset 99"))
    assert made_of.note == "1 of 3 packets are not IP and left out"
    assert made_of.damage == "record cut short at offset 99"
    assert made_of.packet_bytes.tolist() == [40, 1500]


def test_a_capture_without_ip_is_refused_and_says_why():
    with pytest.raises(InputError, match=r"has no IPv4 or IPv6 packet among its 1 \(damaged: cut\)"):
        of_columns("x.pcap", Capture([0], damage="cut"))


def test_packets_without_time_stamps_cannot_arrive_by_them():
    with pytest.raises(InputError, match="has no time stamps"):
        of_columns("x.pcap", Capture([40], has_time=False)).with_arrivals("timestamps")
