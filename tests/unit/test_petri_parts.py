"""Nets inside nets, columns of a workload, and net files as designs."""

import numpy as np
import pytest
from reference.petri_runs import PlainRun

from npexplore.designs import base_of, design
from npexplore.errors import InputError, NpexploreError, RefusedError
from npexplore.machine.petri import load_net, net
from npexplore.machine.workload_sources import workload
from npexplore.solve.petri import find_markings, predict, simulate_net
from npexplore.solve.petri.run import Run

STATION = """
timing = "race"
[constant]
speed = "base * 2"
base = 1.5
unused = "p.nothing"
[place]
In = 0
Out = 0
Server = 1
Idle = 7
[transition]
serve = "In -> Out, using Server, rate speed"
play = "Idle -> In, rate unused"
"""
LINE = """
timing = "race"
[constant]
base = 2.0
[place]
A = 3
B = 0
[transition]
back = "B -> A, rate 1"
[part.one]
net = "station.toml"
joins = { In = "A", Out = "B" }
without = ["play", "Idle"]
"""
TWICE = (
    LINE
    + """
[part.two]
net = "station.toml"
joins = { In = "A", Out = "B" }
without = ["play", "Idle"]
prefix = "second_"
"""
)


@pytest.fixture
def folder(tmp_path):
    for name, text in {"station": STATION, "line": LINE, "twice": TWICE}.items():
        (tmp_path / f"{name}.toml").write_text(text)
    return tmp_path


def test_a_part_joins_places_and_takes_the_constants_of_the_whole(folder):
    made = load_net(folder / "line.toml")
    assert [one.name for one in made.places] == ["A", "B", "Server"]
    assert {one.name: one.rate for one in made.transitions} == {"back": 1.0, "serve": 4.0}
    places = {"A": 3, "B": 0, "Server": 1}
    flat = net(timing="race", place=places, transition={
        "back": "B -> A, rate 1", "serve": "A -> B, using Server, rate 4"})  # fmt: skip
    assert find_markings(made).arcs == find_markings(flat).arcs


def test_two_of_a_kind_have_names_of_their_own(folder):
    made = load_net(folder / "twice.toml")
    assert [one.name for one in made.places] == ["A", "B", "Server", "second_Server"]
    assert [one.name for one in made.transitions] == ["back", "serve", "second_serve"]


FAULTS = {
    ('prefix = "second_"', ""): "line.toml: part.two: place 'Server' is both in the whole and in the part",
    ('In = "A", Out', 'Inn = "A", Out'): "part.one: place of the part 'Inn' is unknown (nearest: In",
    ('Out = "B"', 'Out = "C"'): "part.one: place 'C' is unknown",
    ('"play", "Idle"', '"plai"'): "part.one: place or transition 'plai' is unknown (nearest: play",
    ('timing = "race"', 'timing = "duration"'): "part.one: timing must be 'duration' as in the whole, got 'race'",
    ("station.toml", "line.toml"): "is a part of itself", ("station.toml", "gone"): "part.one: net 'gone' is unknown",
}  # fmt: skip


@pytest.mark.parametrize("change", FAULTS, ids=str)
def test_a_part_at_fault_is_told_with_its_place(change, folder):
    (folder / "line.toml").write_text(TWICE.replace(*change))
    with pytest.raises(InputError) as caught:
        load_net(folder / "line.toml")
    assert FAULTS[change] in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_types_of_a_part_are_those_of_the_whole():
    tables = {
        "timing": "duration", "index": {"b": 4}, "place": {"In": {"of": "job"}, "Out": {"of": "job"}},
        "transition": {"come": "-> In, unless 5 In, set bank = draw(4), set write = 0, set bytes = 8, for 1"},
    }  # fmt: skip
    part = {"net": "ixp2400_dram", "joins": {"DRAMReq": "In", "CpuBuf": "Out"}, "without": ["Window", "Play", "Leave"]}
    job = {"bank": "b", "write": 2, "bytes": "number"}
    made = net(**tables, token={"job": job}, part={"dram": {**part, "types": {"access": "job"}}})
    assert {one.of for one in made.places if one.of} == {"job"}
    with pytest.raises(InputError, match=r"net: part.dram: tokens 'job' must carry .* 'bytes' is missing"):
        net(**tables, token={"job": {"bank": "b", "write": 2}}, part={"dram": {**part, "types": {"access": "job"}}})


FED = {
    "timing": "duration", "token": {"packet": {"size": "number", "kind": 3}}, "feed": {"bytes": 7, "kind": 1},
    "place": {"Free": 2, "Waiting": {"of": "packet"}, "Wire": 1},
    "transition": {
        "come": "Free -> Waiting, set size = 1 + feed(bytes), set kind = feed(kind), for 3",
        "go": "Waiting -> Free, using Wire, for size + kind",
    },
    "measure": {"throughput_bps": "8 * rate(go, size)", "rate_pps": "rate(go)", "size": "rate(go, size) / rate(go)"},
}  # fmt: skip


def test_columns_are_fed_a_row_a_firing_as_the_plain_interpreter_does():
    made = net(**FED).fed({"bytes": np.array([4, 9, 2]), "kind": np.array([0, 1, 2]), "more": np.zeros(3)})
    run = Run.of(made, 1, logged=60)
    plain = PlainRun(made, 1, run.program.ticks)
    while len(plain.log) < 60:
        plain.step()
    run.advance(firings=60)
    np.testing.assert_array_equal(run.firings[:60], np.array(plain.log[:60]))
    assert run.firings[:4, 4].tolist() == [5, 10, 5, 10]  # both begin, then both end


def test_a_mix_comes_in_another_order_for_each_seed_and_whole():
    rows = {"bytes": np.arange(100), "kind": np.zeros(100)}
    made = net(**FED).fed(rows, ordered=False)
    tables = [Run.of(made, seed).program.formulas.table[:, 0] for seed in (1, 1, 2)]
    assert (tables[0] == tables[1]).all()
    assert (tables[0] != tables[2]).any()
    assert sorted(tables[2]) == list(range(100))
    assert predict(made, packets=10_000).rates["size"] == pytest.approx(50.5, rel=1e-2)


def test_what_a_net_is_fed_is_checked():
    with pytest.raises(InputError, match="column of the workload 'kind' is unknown"):
        net(**FED).fed({"bytes": np.ones(2)})
    with pytest.raises(InputError, match=r"takes no workload: it has no table \[feed\]"):
        load_net("kanban").fed({"bytes": np.ones(2)})
    line = {"come": "Free -> Waiting, set size = feed(size), set kind = 0"}
    with pytest.raises(InputError, match=r"column of \[feed\] 'size' is unknown"):
        net(**{**FED, "transition": line})
    line = {"come": "Free -> Waiting, set size = 1, set kind = 0, if feed(bytes) > 1"}
    with pytest.raises(InputError, match="a workload feeds 'set' alone"):
        net(**{**FED, "transition": line})


MINE = """
name = "wire"
timing = "duration"
[constant]
ns_per_byte = 0.8
threads = 4
[token.packet]
size = "number"
[feed]
packet_bytes = 64
[place]
Free = "threads"
Wire = 1
Waiting = { of = "packet" }
[transition]
come = "Free -> Waiting, set size = feed(packet_bytes), for 5"
go = "Waiting -> Free, using Wire, for ns_per_byte * size"
[measure]
throughput_bps = "8e9 * rate(go, size)"
rate_pps = "1e9 * rate(go)"
[utilization]
wire = "busy(Wire)"
"""


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "wire.toml"
    path.write_text(MINE)
    return path


def test_a_net_file_is_a_design(mine):
    made = design(mine)
    found = made.simulate(packets=2_000)
    assert found.throughput_bps == pytest.approx(10e9, rel=1e-3)
    assert (found.bottleneck, found.utilization["wire"].busy) == ("wire", pytest.approx(1.0, rel=1e-3))
    slow = made.with_(ns_per_byte=1.6).simulate(workload(packet_bytes=1500), packets=2_000)
    assert slow.throughput_bps == pytest.approx(5e9, rel=1e-3)
    assert slow.rate_pps == pytest.approx(5e9 / 12_000, rel=1e-3)
    assert made.depends_on() == {"ns_per_byte", "threads"}
    with pytest.raises(RefusedError, match="wire is a Petri net: it is simulated"):
        made.bounds()
    with pytest.raises(NpexploreError, match=r"knob threads .*whole"):
        made.with_(threads=2.5)


@pytest.mark.parametrize("slowly", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_net_is_explained_and_swept(mine, slowly):
    import npexplore as npx

    told = npx.explain(design(mine), packets=1_000, elasticities=slowly)
    document = told.to_dict()
    assert "is a Petri net" in document["refused"]["queueing"]
    assert (document["bounds"], document["bottleneck"]) == (None, "wire")
    assert "wire" in str(told)
    if slowly:
        steps = {one["knob"]: one["elasticity"] for one in document["sensitivity"]}
        assert steps["ns_per_byte"] == pytest.approx(-1.0, abs=0.01)
    rows = npx.sweep(npx.grid(design(mine), solver=["simulation"], knobs={"ns_per_byte": [0.4, 0.8]}), packets=500)
    assert sorted(rows["throughput_bps"] / 1e9) == pytest.approx([10, 20], rel=0.01)


def test_files_extend_nets_and_change_knobs(mine, tmp_path):
    """A net of the shelf or a file, straight away or by another file."""
    for name, text in {
        "one": 'extends = "wire.toml"\nset = { threads = 1 }',
        "more": 'extends = "one.toml"\nset = { ns_per_byte = 1.6 }',
        "drawn": 'extends = "ixp2400_dram_net"\nset = { banks = 2 }',
        "wrong": 'extends = "wire.toml"\nset = { thread = 1 }',
    }.items():
        (tmp_path / f"{name}.toml").write_text(text)
    one, more, drawn = (design(tmp_path / f"{name}.toml") for name in ("one", "more", "drawn"))
    assert (one.name, dict(one.parameters)) == ("one", {"ns_per_byte": 0.8, "threads": 1})
    assert one.simulate(packets=1_000).rate_pps == pytest.approx(1e9 / (5 + 0.8 * 64), rel=1e-3)
    assert more.simulate(packets=1_000).rate_pps == pytest.approx(1e9 / (5 + 1.6 * 64), rel=1e-3)
    assert (base_of(drawn), base_of(one)) == ("ixp2400_dram", "one")
    assert (
        drawn.simulate(packets=1_000).throughput_bps
        < 0.98 * design("ixp2400_dram_net").simulate(packets=1_000).throughput_bps
    )
    with pytest.raises(InputError, match=r"wrong.toml: set: knob of wire 'thread' is unknown"):
        design(tmp_path / "wrong.toml")


def test_a_net_is_checked_by_the_rows_of_its_machine(mine):
    """Rows that need what a net does not measure are without an answer; those of the paper's own net are answered."""
    from npexplore.study.checking.changed import compare_checks

    with pytest.raises(InputError, match="no published row is of wire: it changes no listed design"):
        compare_checks({"wire": design(mine)})
    keys = ["ixp2400.fig9.bandwidth.n50"]
    bare = MINE.replace("threads", "lanes").replace("timing =", 'machine = "ixp2400_dram"\ntiming =')
    mine.write_text(bare)
    (row,) = compare_checks({"ixp2400_dram": design(mine)}, packets=500, seeds=2, keys=keys).rows()
    assert (row["after"], row["change"]) == (None, "lost")
    found = compare_checks({"ixp2400_dram": design("ixp2400_dram_net")}, packets=3_000, seeds=2, keys=keys).rows()[0]
    assert found["after"] == pytest.approx(found["before"], rel=0.02)
    assert found["change"] != "lost"


def test_a_net_without_measures_of_a_design_is_refused(mine):
    mine.write_text(MINE.replace('rate_pps = "1e9 * rate(go)"\n', ""))
    with pytest.raises(RefusedError, match=r"wire.toml: a design needs the measures .* rate_pps is missing"):
        design(mine)
    mine.write_text(MINE.replace("busy(Wire)", "busy(Wires)"))
    with pytest.raises(InputError, match=r"wire: utilization.wire: place 'Wires' is unknown"):
        design(mine)


def test_a_firing_may_take_no_time_under_duration():
    lines = {"t": "A -> B, for 0", "u": "B -> A, for zero + 2"}
    made = net(timing="duration", constant={"zero": 0}, place={"A": 1, "B": 0}, transition=lines)
    assert simulate_net(made).transitions["t"].throughput == pytest.approx(0.5, rel=1e-3)
