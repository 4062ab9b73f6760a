"""RAW: solvers against each other and against what is printed, within bands that hold."""

import pytest

from npexplore.designs import design
from npexplore.machine.workload_sources import workload
from npexplore.study.papers.raw.performance import loss_free, offered

RAW = design("raw")
SHORT, LONG = workload(packet_bytes=64), workload(packet_bytes=1500)


def gbps(version, load, packets=2000, **knobs):
    return RAW.with_(version=version, **knobs).simulate(load, packets=packets).throughput_bps / 1e9


@pytest.mark.slow
def test_line_cards_limit_the_null_router_and_version_iv():
    for version in ("null", "v4"):
        assert gbps(version, LONG, 800) == pytest.approx(15.5, rel=0.01)


@pytest.mark.slow
def test_steps_at_1500_bytes():
    rate = {version: gbps(version, LONG) for version in ("v1", "v2", "v3")}
    assert 1.27 < rate["v2"] / rate["v1"] < 1.4
    assert 1.05 < rate["v3"] / rate["v2"] < 1.18
    assert 15.5 / rate["v3"] == pytest.approx(1.36, rel=0.04)


def test_64_byte_packets():
    rate = {version: RAW.with_(version=version).simulate(SHORT, packets=1600).rate_pps / 1e6 for version in
            ("v1", "v2", "v3", "v4")}  # fmt: skip
    assert rate["v3"] == pytest.approx(9.75, rel=0.01)
    assert rate["v4"] == pytest.approx(rate["v3"], rel=0.01)
    assert 1.22 < rate["v3"] / rate["v2"] < 1.32
    assert 1.05 < rate["v2"] / rate["v1"] < 1.15
    assert rate["v1"] / 2.9 == pytest.approx(2.52, rel=0.03)  # printed: approximately three


def test_one_pipeline_is_a_chain_of_known_cycles():
    """Table 2's lookup and update, words within, but four words that stage 1 reads early; a message has 3 hops."""
    cycles = 425e6 / (RAW.simulate(SHORT, packets=1600).rate_pps / 4)
    assert cycles == pytest.approx(150 + 26 - 4 + 3, abs=0.1)


def test_what_is_offered_below_saturation_is_forwarded():
    table = offered(["v3"], SHORT, (1.0, 2.0, 4.0, 6.0), packets=800)
    assert table["forwarded_mpps"][:3].to_numpy() == pytest.approx(table["offered_mpps"][:3].to_numpy(), rel=0.02)
    assert table["bottleneck"].tolist()[:3] == ["arrivals"] * 2 + [table["bottleneck"][2]]
    assert table["forwarded_gbps"].iloc[-1] < 5
    assert loss_free(table)["MLFFR, Gb/s"].item() == 4.0


@pytest.mark.slow
def test_what_iii_d_costs_on_8_x_8_tiles():
    """Sixteen ports: what four lose of the rate of short packets, and more of that of long ones."""
    loss = {}
    for size, packets in ((64, 1600), (1500, 2000)):
        load = workload(packet_bytes=size)
        rate = {v: RAW.with_(version=v, tiles="8x8").simulate(load, packets=packets).rate_pps for v in ("v3", "v3d")}
        loss[size] = 1 - rate["v3d"] / rate["v3"]
    assert loss[64] == pytest.approx(0.29, abs=0.03)
    assert loss[1500] == pytest.approx(0.16, abs=0.04)


def test_version_iii_d_keeps_its_rate_a_port_on_larger_chips():
    small, large = (
        RAW.with_(version="v3d", tiles=tiles).simulate(SHORT, packets=1600).rate_pps for tiles in ("4x4", "8x4")
    )
    assert large == pytest.approx(2 * small, rel=0.03)


@pytest.mark.parametrize("size", [64, 256, 512])
def test_what_a_short_run_has_above_the_roofline_is_what_was_under_way(size):
    """256 packets of the line cards are in the chip when a window begins; in a long run they are nothing."""
    made, load = design("raw").with_(version="null"), workload(packet_bytes=size)
    limit = made.bounds(load).rate_pps
    threads = made.parameters["card_threads"]
    for packets in (4_000, 60_000):
        answer = made.simulate(load, packets=packets)
        assert answer.rate_pps <= limit + threads / answer.about["simulated_s"]
    assert answer.rate_pps == pytest.approx(limit, rel=0.005)
