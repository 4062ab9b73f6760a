"""What users draw from: public names, what each strategy promises, and the message without hypothesis."""

import subprocess
import sys

import pytest
from hypothesis import Phase, find, given, settings

from npexplore.golden.ipv4.addresses import prefix_pair
from npexplore.golden.ipv4.validate import validate_ipv4
from npexplore.golden.reasons import Reason
from npexplore.testing import addresses, addresses_near, ip_options, ipv4_packets, prefixes, routing_tables, updates
from npexplore.testing.shrinking import _plainer_packets6

QUICK = settings(phases=[Phase.generate], max_examples=2_000, database=None)


def drawn(strategy, condition):
    """Return something that a strategy draws, not the smallest."""
    return find(strategy, condition, settings=QUICK)


def test_without_hypothesis_the_extra_is_named():
    script = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "import npexplore.golden, npexplore.testing\n"
        "npexplore.golden.Dir24_8\n"
        "try: npexplore.testing.prefixes\n"
        "except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "npexplore.testing needs hypothesis: install npexplore with its extra `test`\n"


@given(prefixes(8, 24))
def test_prefixes_keep_to_their_lengths(prefix):
    assert 8 <= prefix_pair(prefix)[1] <= 24


@given(routing_tables(max_size=9, next_hops=3))
def test_no_prefix_stands_twice_in_a_table(routes):
    assert len({prefix for prefix, _ in routes}) == len(routes) <= 9
    assert {hop for _, hop in routes} <= {0, 1, 2}


@given(updates())
def test_updates_take_away_only_what_is_there(sequence):
    there = set()
    for prefix, hop in sequence:
        if hop is None:
            there.remove(prefix)
        else:
            there.add(prefix)


@given(ipv4_packets(valid=True))
def test_valid_packets_are_valid(packet):
    assert validate_ipv4(packet) is Reason.NONE


@given(ip_options())
def test_options_fit_a_header(options):
    assert len(options) <= 40


@pytest.mark.parametrize(
    "reason", [r for r in Reason if Reason.TOO_SHORT <= r <= Reason.BAD_CHECKSUM], ids=lambda reason: reason.name
)
def test_malformed_packets_fail_every_way(reason):
    assert drawn(ipv4_packets(valid=False), lambda packet: validate_ipv4(packet) is reason) is not None


def test_packets_have_options_unless_told_otherwise():
    assert drawn(ipv4_packets(valid=True), lambda packet: packet[0] > 0x45)


@given(ipv4_packets(valid=True, options=False))
def test_packets_without_options(packet):
    assert packet[0] == 0x45


def test_addresses_lie_at_borders():
    assert addresses_near([("10.0.0.0/24", 1)]) == [0, 0x09FFFFFF, 0x0A000000, 0x0A0000FF, 0x0A000100, 0xFFFFFFFF]
    assert drawn(addresses(), lambda address: address > 2**31) > 2**31


@pytest.mark.parametrize("wrong", [0, 1])
def test_simpler_packets_of_ipv6_keep_a_right_length_right_and_a_wrong_one_wrong(wrong):
    packet = bytes([0x6F, 1, 2, 3, 0, 9 + wrong, 6, 3]) + bytes(range(32)) + b"some data"
    simpler = [*_plainer_packets6(packet)]
    assert [len(one) - 40 for one in simpler[:3]] == [0, 4, 8]
    assert all((int.from_bytes(one[4:6], "big") == len(one) - 40) == (not wrong) for one in simpler)
    assert all(one[8:40] == packet[8:40] for one in simpler)
