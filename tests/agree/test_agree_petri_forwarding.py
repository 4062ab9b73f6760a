"""The forwarding net of the IXP2400 against the event engine's design: one file, one workload, two ways to run them."""

import tomllib

import pytest

from npexplore.designs import design
from npexplore.errors import RefusedError
from npexplore.machine.petri import load_net
from npexplore.machine.workload_sources import workload
from npexplore.paths import share

# Figs. 6, 11, 12 to 15: what varies there. The bank's share alone is another one: the net has it from the row command
# on, the engine from the wait for it on.
SMALL = workload(packet_bytes=64)
POINTS = [
    ({"threads": 8}, None), ({"bus_bits": 128}, None), ({"engines": 8, "threads": 32}, None),
    ({"scheme": "hb"}, "amp"), ({"scheme": "fcb_tb"}, "psc"), ({"placement": "cell"}, "amp"),
    ({"placement": "packet", "long_header_reads": 3}, "frg"),
    ({"scheme": "fcb", "segments": "dynamic", "scratch_bytes": 512}, "amp"),
]  # fmt: skip
BESIDE = 0.006  # of a share or rate: the rules that differ (docs/petri_nets.md)


def both(knobs, load, packets, seeds=1):
    return [
        design(name).with_(**knobs).simulate(load, packets=packets, seeds=seeds) for name in ("ixp2400_net", "ixp2400")
    ]


def same(net, engine):
    """Return what is further apart than both intervals and what the rules may do."""
    apart = []
    for name, pair in {
        "throughput_bps": (net.throughput_bps, engine.throughput_bps),
        **{f"utilization.{one}": (net.utilization[one].busy, engine.utilization[one].busy)
           for one in ("me", "hash", "dram.bus", "dram.gating", "sram.read", "sram.write", "scratch")},
    }.items():  # fmt: skip
        room = sum((one.ci95[name][1] - one.ci95[name][0]) / 2 for one in (net, engine) if name in one.ci95)
        if abs(pair[0] - pair[1]) > room + BESIDE * max(pair):
            apart.append((name, *pair))
    return apart


@pytest.mark.parametrize("knobs", [{}, {"threads": 32, "back_pressure": "on"}], ids=str)
def test_sixty_four_bytes_are_forwarded_as_the_engine_does(knobs):
    net, engine = both(knobs, SMALL, 3_000)
    assert same(net, engine) == []
    assert engine.utilization["dram.bank"].busy - 0.04 < net.utilization["dram.bank"].busy
    assert net.utilization["dram.bank"].busy < engine.utilization["dram.bank"].busy
    assert net.latency_s.mean == pytest.approx(engine.latency_s.mean, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(("knobs", "mix"), POINTS, ids=str)
def test_every_point_of_the_figures_is_what_the_engine_says(knobs, mix):
    load = SMALL if mix is None else workload(mix=mix)
    net, engine = both(knobs, load, 10_000 if mix is None else 2_500, seeds=2)
    assert same(net, engine) == []
    assert net.rates["dram.bytes"] == pytest.approx(engine.rates["dram.bytes"], rel=0.008)


def test_no_number_is_the_nets_own():
    file = tomllib.loads((share("models", "nets") / "ixp2400.toml").read_text())
    assert all("p." in said for said in file["constant"].values())
    made = load_net("ixp2400")
    assert {"RowAddrTrans[3]", "CpuTrans", "PrechargeCmdTrans[0]", "RefreshInterval", "Receive[3]"} <= {
        one.name for one in made.transitions
    }
    assert not {"Play", "Leave[0]", "Window"} & {one.name for one in (*made.places, *made.transitions)}


def test_structure_that_is_not_drawn_and_packets_that_wait_for_nobody_are_refused():
    with pytest.raises(RefusedError, match="has gating before_bus in its structure, got whole"):
        design("ixp2400_net").with_(gating="whole").simulate(SMALL)
    with pytest.raises(RefusedError, match="as fast as it can, got poisson arrivals"):
        design("ixp2400_net").simulate(SMALL.with_arrivals("poisson", 1e6))


def test_segments_in_a_common_pool_hold_threads_back():
    made = design("ixp2400_net").with_(scheme="fcb_tb", segments="dynamic")
    few, many = (made.with_(scratch_bytes=n).simulate(SMALL, packets=1_000) for n in (512, 16_384))
    assert few.utilization["me"].busy < 0.7 * many.utilization["me"].busy


def test_a_published_row_is_answered_by_the_net_in_its_designs_place():
    from npexplore.study.checking.check import check

    key = "ixp2400.fig15.throughput.w64_b8"
    row = check(["ixp2400"], keys=[key], seeds=2, packets=1_500, machines={"ixp2400": design("ixp2400_net")}).rows[0]
    assert (row["key"], row["label"]) == (key, "calibrated")
    assert row["verdict"] in ("inside", "close")
    assert "simulation" in design("ixp2400_net").simulate(SMALL, packets=200).approximation
