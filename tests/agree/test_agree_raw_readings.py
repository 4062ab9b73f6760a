"""RAW: what the named alternatives do to rows that stay red, as models/machines/raw.toml tells in its reasons."""

import pytest

from npexplore.designs import design
from npexplore.machine.workload_sources import workload

RAW = design("raw")
SHORT, LONG, TRACE = workload(packet_bytes=64), workload(packet_bytes=1500), workload(mix="raw_trace")
pytestmark = pytest.mark.slow


def mpps(load, packets=1024, **knobs):
    return RAW.with_(**knobs).simulate(load, packets=packets).rate_pps / 1e6


@pytest.mark.parametrize(("cycles", "gain"), [(3.0, 0.06), (20.0, 0.42)])
def test_version_ii_gains_the_changes_of_route_at_64_bytes(cycles, gain):
    first, second = (mpps(SHORT, version=version, switch_reset_cycles=cycles) for version in ("v1", "v2"))
    assert second / first - 1 == pytest.approx(gain, abs=0.015)
    assert first < mpps(SHORT, version="v1", results="general", switch_reset_cycles=cycles) < second


def test_double_feeding_gains_if_it_decouples_the_stages():
    four, two = mpps(SHORT, version="v3"), mpps(SHORT, version="v5")
    assert two == pytest.approx(4 * 425 / 150, rel=0.002)  # printed: 11.7 Mpps, 20 % more
    assert mpps(SHORT, version="v5", stages="coupled") == pytest.approx(four, rel=0.01)


def test_two_line_cards_are_held_up_by_the_memory():
    two = RAW.with_(version="v5")
    pipeline, card = (two.with_(card_limit=limit).simulate(LONG, packets=640) for limit in ("pipeline", "card"))
    assert card.throughput_bps == pytest.approx(pipeline.throughput_bps, rel=0.05)
    assert pipeline.throughput_bps < 7.75e9  # which two cards of one rate would carry
    assert pipeline.utilization["reads0"].busy > 0.9  # each card reads as fast as one buffer gives


@pytest.mark.parametrize(("who", "loss"), [("tile", 0.29), ("card", 0.19)])
def test_copies_of_headers_cost_version_iii_d_its_lookup_tile(who, loss):
    assert 1 - mpps(SHORT, version="v3d", replicates=who) / mpps(SHORT, version="v3") == pytest.approx(loss, abs=0.015)


def test_the_trace_with_two_reads_a_lookup():
    found = RAW.with_(version="v3", prefix="long").simulate(TRACE, packets=3000).throughput_bps
    assert found == pytest.approx(7.1e9, rel=0.03)


def test_an_exclusive_half_duplex_memory_halves_version_i():
    both, one = (mpps(LONG, 320, version="v1", half_duplex=mode) for mode in ("overlap", "exclusive"))
    assert 0.45 < one / both < 0.6
