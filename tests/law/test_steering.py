"""Flows hashed to queues: Toeplitz's published answers, the fullest queue's exact share and its laws."""

import ipaddress
import itertools
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npexplore.errors import InputError, ModelError
from npexplore.golden.toeplitz import KEY, toeplitz
from npexplore.machine.steering import NUMBERS, flow_shares, fullest, hashed, steered, table_shares, taken
from npexplore.machine.workload import Workload

ANSWERS = [  # Microsoft, "Verifying the RSS Hash Calculation": source, destination, with addresses alone, with ports
    ("66.9.149.187", 2794, "161.142.100.80", 1766, 0x323E8FC2, 0x51CCC178),
    ("199.92.111.2", 14230, "65.69.140.83", 4739, 0xD718262A, 0xC626B0EA),
    ("24.19.198.95", 12898, "12.22.207.184", 38024, 0xD2D0A5DE, 0x5C2B394A),
    ("38.27.205.30", 48228, "209.142.163.6", 2217, 0x82989176, 0xAFC7327F),
    ("153.39.163.191", 44251, "202.188.127.2", 1303, 0x5D1809C5, 0x10E828A2),
]


@pytest.mark.parametrize(("source", "from_port", "to", "to_port", "addresses", "ports"), ANSWERS)
def test_toeplitz_gives_the_published_answers(source, from_port, to, to_port, addresses, ports):
    data = ipaddress.ip_address(source).packed + ipaddress.ip_address(to).packed
    data += struct.pack(">HH", from_port, to_port)
    rows = np.frombuffer(data, np.uint8)[None, :]
    assert toeplitz(rows[:, :8])[0] == addresses
    assert toeplitz(rows)[0] == ports


def test_a_key_that_is_too_short_is_refused():
    with pytest.raises(InputError, match="a Toeplitz key of 12 bytes hashes at most 8, got 12"):
        toeplitz(np.zeros((1, 12), np.uint8), KEY[:12])


@pytest.mark.parametrize(("flows", "queues", "entries"), [(1, 3, 3), (4, 2, 2), (5, 3, 3), (6, 3, 4), (4, 4, 7)])
def test_the_fullest_share_is_that_of_all_ways_to_fall(flows, queues, entries):
    named = table_shares(queues, entries)
    mean = speedup = 0.0
    for way in itertools.product(range(queues), repeat=flows):
        chance = np.prod(named[list(way)])
        most = np.bincount(way).max() / flows
        mean, speedup = mean + chance * most, speedup + chance / most
    found = fullest(flows, queues, 0.0, entries)
    assert found.mean == pytest.approx(mean, rel=1e-9)
    assert found.speedup == pytest.approx(speedup, rel=1e-9)


@settings(max_examples=25, deadline=None)
@given(flows=st.integers(1, 300), queues=st.integers(1, 16))
def test_the_fullest_share_falls_with_flows_and_stays_above_an_even_one(flows, queues):
    """The shares of n + 1 flows are the mean of those without one of them, so their largest is no larger (Jensen)."""
    few, more = fullest(flows, queues), fullest(flows + 1, queues)
    assert max(1 / queues, 1 / flows) <= few.mean + 1e-12
    assert few.mean <= few.q95 <= 1 or few.q95 == pytest.approx(few.mean)
    assert more.mean <= few.mean + 1e-12
    assert 1 - 1e-9 <= few.speedup <= min(queues, flows) + 1e-9
    assert few.speedup >= 1 / few.mean - 1e-9  # Jensen


@pytest.mark.parametrize("queues", [2, 6])
def test_many_flows_come_to_what_the_table_names(queues):
    limit = table_shares(queues).max()
    shares = [fullest(n, queues).mean for n in (NUMBERS, 4096, 500_000)]
    assert shares == sorted(shares, reverse=True)
    if queues == 2:  # the limit of de Moivre: sqrt(2 / (pi n)) / 2 above a half
        assert shares[1] == pytest.approx(0.5 + (2 / np.pi / 4096) ** 0.5 / 2, rel=1e-4)
        assert shares[-1] - 0.5 == pytest.approx((2 / np.pi / 5e5) ** 0.5 / 2, rel=1e-2)
    assert shares[-1] == pytest.approx(limit, rel=0.02)
    assert fullest(1, queues).mean == 1


@pytest.mark.parametrize(("flows", "queues", "skew"), [(2, 2, 0.0), (10, 6, 0.0), (300, 6, 0.0), (100, 6, 1.0)])
def test_hashed_flows_are_as_full_as_the_formula_says(flows, queues, skew):
    found = [max(hashed(flows, queues, skew, k)) for k in range(1, 301)]
    error = np.std(found) / len(found) ** 0.5
    assert np.mean(found) == pytest.approx(fullest(flows, queues, skew).mean, abs=4 * error + 1e-9)
    assert max(hashed(flows, queues, skew, 0)) in [max(hashed(flows, queues, skew, k)) for k in range(1, 65)]


@pytest.mark.parametrize(("call", "rule"), [
    (lambda: fullest(0, 4), "flows must be at least 1, got 0"),
    (lambda: flow_shares(3, -1.0), "flow_skew must be at least 0 and finite, got -1.0"),
    (lambda: table_shares(5, 4), "a table of 4 entries must name 1 to 4 queues, got 5"),
])  # fmt: skip
def test_what_cannot_be_is_refused(call, rule):
    with pytest.raises(ModelError, match=rule):
        call()


def test_packets_take_queues_by_their_shares():
    load = steered(Workload("a", {"packet_bytes": np.full(1, 64)}), (0.5, 0.0, 0.3, 0.2), "told")
    counts = np.bincount(load.columns["queue"], minlength=4) / len(load.packet_bytes)
    assert counts == pytest.approx([0.5, 0.0, 0.3, 0.2], abs=2e-4)
    assert not load.ordered
    assert load.note == "told"


def test_a_queue_takes_no_more_than_it_can_and_no_more_than_comes():
    assert taken(10.0, 30.0, (0.5, 0.3, 0.2)) == pytest.approx(10 + 9 + 6)
    assert taken(10.0, 300.0, (0.5, 0.3, 0.2)) == 30
