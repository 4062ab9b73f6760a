"""The paper's DRAM net against the event engine's design: the same file, two ways to run it."""

import tomllib

import pytest

from npexplore.designs import design
from npexplore.errors import InputError, RefusedError
from npexplore.machine.petri import load_net, net
from npexplore.paths import share
from npexplore.solve.petri import predict

PRINTED = {  # Sec. 3.1, in italics
    "places": {"DRAMReq", "Bank", "CpuBus", "IOGating", "AddrCmdBus", "WaitColAddr", "CpuBuf", "DramSlots",
        "WaitRefresh"},
    "transitions": {
        "ReadMemCtrlTransform", "RowAddrTrans", "RowAct", "ColAddrTrans", "ColAccess", "ReadDataTrans", "CpuTrans",
        "PrechargeCmdTrans", "Precharge", "RASLatency", "RefreshInterval",
    },
}  # fmt: skip


def test_every_printed_name_is_there_in_thirty_lines_and_no_number_is_its_own():
    file = tomllib.loads((share("models", "nets") / "ixp2400_dram.toml").read_text())
    assert PRINTED["places"] <= {name.partition("[")[0] for name in file["place"]}
    assert PRINTED["transitions"] <= set(file["transition"])
    assert len(file["transition"]) <= 30
    assert all("p." in said or "t." in said for said in file["constant"].values())


@pytest.mark.parametrize(
    ("narrow", "accesses"),
    [*((narrow, 150_000) for narrow in (0.0, 0.3, 0.5, 1.0)), pytest.param(0.3, 1_500_000, marks=pytest.mark.slow)],
)
def test_the_net_moves_as_much_as_the_engine(narrow, accesses):
    """Within 0.5 %, both well known; quick runs within 1 %.

    With 16 bytes of bus overhead all times are multiples of 5 ns; net and engine break ties differently (0.9 %).
    """
    knobs = {"narrow_share": narrow, "bus_overhead_bytes": 16.1}
    drawn, engine = (design(name).with_(**knobs) for name in ("ixp2400_dram_net", "ixp2400_dram"))
    net_says = drawn.simulate(packets=accesses).throughput_bps
    assert net_says == pytest.approx(
        engine.simulate(packets=accesses).throughput_bps, rel=0.005 if accesses > 1e6 else 0.01
    )


def test_knobs_reach_the_net_and_what_it_does_not_draw_is_refused():
    made = design("ixp2400_dram_net")
    wide = made.with_(bus_bits=128, banks=8).simulate(packets=20_000)
    assert wide.throughput_bps > 1.2 * made.simulate(packets=20_000).throughput_bps
    assert "Bank[7]" in {place.name for place in made.with_(banks=8).drawn().places}
    assert 0 < wide.utilization["dram.bank"].busy < made.simulate(packets=20_000).utilization["dram.bank"].busy
    assert made.with_(refresh="off").drawn().marking(made.drawn().initial)["Window"] == 8
    assert not any(one.name == "Refresh" for one in made.with_(refresh="off").drawn().transitions)
    with pytest.raises(RefusedError, match="has admission in_order in its structure, got together"):
        made.with_(admission="together").simulate()


def test_measures_are_checked_before_anything_runs():
    def measured(**measure):
        return predict(
            net(timing="duration", place={"A": 1, "B": 0}, transition={"t": "A -> A, for 2"}, measure=measure)
        )

    found = measured(throughput_bps="8 * rate(t)", share="busy(A)", counted="firings")
    assert (found.throughput_bps, found.rates["share"], found.counted) == (4.0, pytest.approx(1.0), "firings")
    faults = {
        "rate(u)": "net: measure.x: transition 'u' is unknown (known: t)",
        "busy(B)": "needs a place with tokens at first",
        "age(t)": "needs a transition that ends tokens with data", "speed(t)": "measure 'speed' is unknown",
        "rate(t, size)": "field 'size' is unknown", "rate(t": "is not a formula",
    }  # fmt: skip
    for text, message in faults.items():
        with pytest.raises(InputError) as caught:
            measured(x=text)
        assert message in str(caught.value)
    with pytest.raises(RefusedError, match=r"needs a table \[measure\]"):
        predict(load_net("kanban"))
