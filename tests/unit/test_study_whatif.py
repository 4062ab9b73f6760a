"""What if: single changes with known gains, ranked with their noise; knees of curves whose bend is known."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import npexplore
from npexplore.cli import main
from npexplore.designs import DESIGNS, design
from npexplore.errors import InputError
from npexplore.machine import FifoServer, Machine, Pool
from npexplore.machine.workload import Workload
from npexplore.paths import share
from npexplore.study.explaining.candidates import changes_to_try
from npexplore.study.explaining.explain import explain
from npexplore.study.explaining.joint import ceilings_of
from npexplore.study.explaining.knees import knee
from npexplore.study.explaining.paired import Forwarded, answers_and_rates, packets_for, ratio
from npexplore.study.explaining.whatif import (
    FIRST,
    Change,
    WhatIf,
    what_if,
    what_if_in_stages,
    worth_simulating_bps,
)
from npexplore.study.explaining.words import gain_text
from npexplore.study.sweeping.grid import SweepPoint

LOAD = npexplore.workload(packet_bytes=64)
SLOW_HASH = design("ixp2400").with_(hash_ns=2000.0)


@pytest.fixture(scope="module")
def threads_bound():
    """Two threads that wait for memory: more threads are what helps."""
    return what_if(design("ixp2400").with_(threads=2), LOAD)


def test_a_gain_is_that_of_paired_simulations(threads_bound):
    best = threads_bound.gains[0]
    assert (best.knob, best.present, best.value) == ("threads", 2, 4)
    present = design("ixp2400").with_(threads=2)
    packets = packets_for(present, LOAD)
    few, many = (made.simulate(LOAD, 1, packets=packets).rate_pps for made in (present, present.with_(threads=4)))
    assert best.gain == pytest.approx(many / few - 1)
    assert best.gain > 0.7
    assert best.low < best.gain < best.high
    assert best.solver == "simulation"


def test_what_is_simulated_first_is_what_stands_in_the_end(threads_bound):
    first, last = what_if_in_stages(design("ixp2400").with_(threads=2), LOAD)
    assert last == threads_bound
    assert 0 < len(first.changes) <= FIRST
    assert set(first.changes) < set(last.changes)
    assert first.gains[0] == last.gains[0]
    assert first.knees == ()
    (alone,) = what_if_in_stages(design("ixp2400").with_(threads=2), LOAD, early=False, knees=False)
    assert alone == replace(last, knees=())
    assert last.knees


def test_a_simulated_point_tells_the_ceilings_that_bounds_tell():
    """Joint changes are chosen by these: not near them, but the same."""
    machine = design("ixp2400").with_(threads=2)
    point = SweepPoint(machine, LOAD, "simulation", 1)
    ((rate, _),) = answers_and_rates([point], 200, ceilings=True)
    assert rate.ceilings == ceilings_of(machine.bounds(LOAD))
    assert len(rate.ceilings) > 3


def test_changes_stand_in_order_and_only_beyond_the_noise(threads_bound):
    gains = [change.gain for change in threads_bound.changes]
    assert gains == sorted(gains, reverse=True)
    assert all(abs(gain) > 0.009 for gain in gains)
    assert {change.knob for change in threads_bound.changes}.isdisjoint(threads_bound.without_effect)
    assert "back_pressure" in threads_bound.without_effect


def test_a_machine_of_many_slots_is_full_before_a_change_is_judged():
    """Twice the pipelines gained 69 %, and ports seemed to bind: 2,400 packets only filled 8,192 slots."""
    path = share("models", "template", "machines", "switch.toml")
    switch = npexplore.design(path)
    wide = switch.with_(pipelines=2 * switch.parameters["pipelines"])
    load = npexplore.workload(packet_bytes=64)
    rates = [one.simulate(load, packets=packets_for(one, load), breakdown=False) for one in (switch, wide)]
    assert rates[1].rate_pps / rates[0].rate_pps == pytest.approx(2, rel=0.02)
    assert rates[1].bottleneck == "pipe"


def test_a_comparison_is_never_wider_than_that_of_independent_answers():
    """Batches that have nothing in common pair badly: the half width is then that of two runs on their own."""
    rng = np.random.default_rng(3)
    unlike, alike = (tuple((100, float(t)) for t in 1e-6 * rng.normal(1, 0.1, 16)) for _ in range(2))
    pair = [Forwarded(1e8, 512.0, batches, 0.01) for batches in (unlike, alike)]
    assert ratio(*pair).half == pytest.approx(0.01 * 2**0.5)
    same = [Forwarded(1e8, 512.0, unlike, 0.05), Forwarded(2e8, 512.0, tuple((n, t / 2) for n, t in unlike), 0.05)]
    assert ratio(*same).half == pytest.approx(0, abs=1e-9)
    assert ratio(pair[0]._replace(batches=()), pair[1]._replace(half=None)).half is None


def test_advice_rests_on_longer_runs_where_a_pair_tells_little():
    """Twice the cores gained 92 +- 15 % where packets meet in random banks, and each run was known within 0.8 %."""
    dpu = npexplore.design(share("models", "template", "machines", "dpu.toml"))
    found = what_if(dpu, LOAD)
    assert max(one.uncertainty for one in found.advised) < 0.005
    assert found.gains[0].gain == pytest.approx(1, abs=0.004)  # twice the cores, which bind


TIED = '''
name = "tied"
title = "cores between two ports of one rate"
parameter.rx = { kind = "knob", value = 100, min = 1, max = 800, unit = "Gb/s", about = "in", source = "assumed" }
parameter.tx = { kind = "knob", value = 100, min = 1, max = 800, unit = "Gb/s", about = "out", source = "assumed" }
parameter.cores = { kind = "knob", value = 32, min = 1, max = 64, about = "cores", source = "assumed" }
resource.rx = { type = "ethernet_port", gbps = "= p.rx" }
resource.tx = { type = "ethernet_port", gbps = "= p.tx" }
resource.core = { type = "processor", engines = "= p.cores", clock_hz = "2 GHz" }
[[pool]]
name = "packet"
count = "= 4 * p.cores"
home = "core"
program = """
m.rx.receive(bytes=packet.packet_bytes)
m.core.compute(cycles=300)
m.tx.send(bytes=packet.packet_bytes)
"""
'''


def test_changes_that_bounds_allow_nothing_need_no_simulation(threads_bound, tmp_path):
    (best,) = what_if_in_stages(design("ixp2400").with_(threads=2), LOAD, early=False, knees=False, best=True)
    left = {f"{one.knob}={one.value}" for one in best.changes}
    assert best.advised == threads_bound.advised
    assert len(best.cannot_gain) > len(left) / 2
    assert left.isdisjoint(best.cannot_gain)
    assert {f"{one.knob}={one.value}" for one in threads_bound.gains} <= left
    assert not {name.partition("=")[0] for name in best.cannot_gain} & set(best.without_effect)
    (tmp_path / "tied.toml").write_text(TIED)
    tied = npexplore.design(tmp_path / "tied.toml")
    whole, brief = (explain(tied, LOAD, elasticities=False, changes=all_) for all_ in (True, "best"))
    assert brief.what_if.joint == whole.what_if.joint is not None
    assert brief.what_if.knees == ()
    assert str(brief) == str(whole)
    # losses may let more through than bounds of all packets allow: then what raises these is simulated
    now, ceiling = (Forwarded(rate, 8.0, ()) for rate in (110.0, 100.0))
    assert worth_simulating_bps(now, ceiling) == worth_simulating_bps(ceiling, now) == pytest.approx(808)
    assert worth_simulating_bps(now, None) == 0


def test_resources_that_are_equally_busy_are_advised_together(tmp_path):
    (tmp_path / "tied.toml").write_text(TIED)
    tied = npexplore.design(tmp_path / "tied.toml")
    answer = explain(tied, LOAD, elasticities=False, changes=True)
    joint = answer.what_if.joint
    assert answer.what_if.gains == ()
    assert {one.knob: (one.present, one.value) for one in joint.settings} == {"rx": (100, 200), "tx": (100, 200)}
    after = tied.with_(rx=200, tx=200).estimate(LOAD).rate_pps / answer.best.rate_pps - 1
    assert joint.gain == pytest.approx(after, rel=0.01)
    assert after > 0.5
    assert joint.bottleneck == "core"
    _, binds, advice, *_ = str(answer).split("\n")
    assert "is as busy: both must grow" in binds
    assert re.search(r"Set .x to 200 Gb/s \(100 now\) and .x to 200 Gb/s \(100 now\) together: \+", advice)
    assert {one["knob"] for one in answer.to_dict()["joint"]["settings"]} == {"rx", "tx"}
    assert explain(tied.with_(tx=101), LOAD, elasticities=False, changes=True).what_if.joint is not None  # within 1 %
    assert explain(tied.with_(tx=200), LOAD, elasticities=False, changes=True).what_if.joint is None  # rx alone binds


def test_equal_gains_stand_in_the_order_of_the_file(threads_bound):
    file = design("ixp2400").parameters.file.parameter
    tried = [(name, choice) for name, parameter in file.items() for choice in parameter.choices or [None]]
    found = [(-c.gain, tried.index((c.knob, c.value if file[c.knob].choices else None))) for c in threads_bound.changes]
    assert len({gain for gain, _ in found}) < len(found)
    assert found == sorted(found)


def test_a_machine_bound_by_a_fitted_number_gains_by_no_change():
    found = what_if(SLOW_HASH, LOAD)
    assert found.gains == ()
    assert all(change.gain < 0 for change in found.changes)


def test_impossible_changes_tell_why():
    made = design("ixp2400").with_(scratch_bytes=1024, threads=8, scheme="fcb_tb")
    found = what_if(made, LOAD)
    assert "needs 2048 bytes of scratchpad for 16 threads" in found.impossible["threads=16"]
    assert "scratch_bytes=512" in found.impossible


OTHER_WORK = {  # knob -> settings under which a machine does another job than it did, or gets other packets
    "ixp2400": {"refresh": ["off"], "header_bytes": [12]},
    "ixp2400_dram": {"read_share": [0.25], "pattern": ["in_turn"]},
    "ixp1200": {"service": ["ip_forwarding"], "rules": [22], "packet_bytes": [1500], "discipline": ["drr"]},
    "raw": {"version": ["null"], "prefix": ["short"], "cache": ["hit"]},
    "soclib": {"packet_bytes": [1500], "remote_share": [0.375], "window_cycles": [1_000_000]},
    "gorilla": {"flow_counting": ["off", "on"], "reorder": ["off"], "proto": ["ipv6"], "protocols": ["ipv4"]},
    "smartnic": {"flow_miss": [0.1], "check_bytes": [2]},
    "server": {"program": ["tx"], "egress": ["none"], "table": ["single"], "own_lookup": ["none"]},
    "pcie": {"op": ["write"], "cache": ["cold"], "window_bytes": [4096]},
    "nfp4000": {"program_cycles": [50.0], "commands": [1], "receive": ["paced"]},
}
assert OTHER_WORK.keys() <= DESIGNS.keys(), f"not listed: {OTHER_WORK.keys() - DESIGNS.keys()}"
OF_TRAFFIC = re.compile(r"^share of|\boffered\b|\btraffic\b|what is done|^length of every packet|how packets arrive")


@pytest.mark.parametrize("name", DESIGNS)
def test_nothing_is_advised_under_which_a_machine_does_another_job(name):
    made = design(name)
    advised = changes_to_try(made, LOAD if made.own is None else None)
    assert advised
    for knob, values in OTHER_WORK.get(name, {}).items():
        assert knob in made.parameters  # a knob that is renamed is renamed here
        assert not {value for one, value in advised if one == knob} & set(values), knob
    parameters = made.parameters.file.parameter
    about = {knob: parameters[knob].about for knob, _ in advised}
    assert {knob for knob, told in about.items() if OF_TRAFFIC.search(told)} <= {"receivers", "steering"}
    assert {parameters[knob].kind for knob in about} <= {"knob", "fact"}


def test_knobs_of_one_name_are_advised_in_all_machines_or_in_none():
    told = {}
    for name in DESIGNS:
        for knob, parameter in design(name).parameters.file.parameter.items():
            if parameter.kind in ("knob", "fact"):
                told.setdefault(knob, {})[name] = bool(parameter.advised)
    unlike = {knob: by for knob, by in told.items() if len(set(by.values())) > 1}
    assert set(unlike) == {"header_bytes"}  # the IP header, and what of a packet enters RAW's pipeline


def test_a_version_that_only_moves_packets_is_no_advice():
    made = design("raw")
    first = next(iter(what_if_in_stages(made, LOAD)))
    assert {change.value for change in first.changes if change.knob == "version"} <= {"v1", "v2", "v3d", "v4", "v5"}
    assert made.with_(version="null").bounds(LOAD).rate_pps > 1.1 * made.bounds(LOAD).rate_pps  # what it would gain


def test_advised_choices_are_choices(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('extends = "raw"\n[parameter.version]\nadvised = ["v3", "v6"]\n')
    with pytest.raises(InputError, match=r"knob version must be one of .* got 'v6'"):
        design(file)


def test_a_long_capture_is_answered_by_bounds(monkeypatch):
    monkeypatch.setattr("npexplore.study.explaining.sensitivity.LONGEST_TRACE", 3)
    load = Workload("t", {"packet_bytes": np.full(4, 1500)}, arrivals="timestamps", t_ns=np.arange(4) * 200)
    found = what_if(design("ixp2400"), load)
    assert {change.solver for change in found.changes} == {"bounds"}
    assert all(change.low is None for change in found.changes)


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        ([(x, min(x, 8)) for x in (1, 2, 4, 8, 16, 32, 64)], 8),
        ([(x, 64 / max(x, 8)) for x in (1, 2, 4, 8, 16, 32, 64)], 8),
        ([(1, 1), (2, 2), (4, 3)], None),
        ([(1, 5), (2, 5), (4, 5)], None),
        ([(1, 1), (2, 2)], None),
        ([(1, 1), (2, 1), (4, 1), (8, 9)], None),
    ],
)
def test_a_knee_is_where_a_curve_bends_to_its_level_part(curve, expected):
    assert knee(curve) == expected


def test_knees_of_the_machine(threads_bound):
    curves = {found.knob: found for found in threads_bound.knees}
    assert [value for value, _ in curves["threads"].curve] == [1, 2, 4, 8, 16]
    assert curves["threads"].enough >= 8


def test_words_picture_and_document_say_the_same(threads_bound):
    import dataclasses

    made = design("ixp2400").with_(threads=2)
    e = dataclasses.replace(explain(made, LOAD, elasticities=False), what_if=threads_bound)
    assert "The best single changes: threads 2 to 4 (+" in str(e)
    document = e.to_dict()
    assert document["what_if"][0]["knob"] == "threads"
    assert document["headroom"]["reached"] == pytest.approx(
        e.best.throughput_bps / min(document["headroom"]["ceilings"].values())
    )
    assert list(document["headroom"]["ceilings"].values()) == sorted(document["headroom"]["ceilings"].values())
    figure = e.plot()
    assert {trace.type for trace in figure.data} == {"bar", "scatter"}
    assert "threads 4" in figure.data[-2].y
    assert "single change" in e._repr_html_()
    nothing = dataclasses.replace(e, what_if=WhatIf())
    assert "No single change that was tried gains more than the noise." in str(nothing)
    assert len(nothing.plot().data) == len(figure.data) - 2  # bars, and the name of their intervals


def test_gains_as_people_write_them():
    change = Change("banks", "knob", 4, 8, "", 0.0389, 0.032, 0.045, "simulation", "dram.bus")
    assert gain_text(change) == "+3.89 ± 0.65 %"
    assert gain_text(replace(change, gain=1.0, low=0.9999999, high=1.0)) == "+100 %"
    assert gain_text(Change("banks", "knob", 4, 2, "", -0.34, None, None, "bounds", "x")) == "-34 %"


def test_the_command_writes_a_page_that_needs_no_network(capsys, tmp_path):
    page = tmp_path / "why.html"
    arguments = ["explain", "ixp2400_dram", "--packets", "300", "--html", str(page), "--json"]
    assert main(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    assert {"headroom", "what_if", "knees", "impossible"} <= set(document)
    text = page.read_text()
    assert text.count('class="chart"') == 2
    assert len(text) < 300_000  # without plotly.js
    assert not re.search('<[a-z]+ [^>]*src="http', text)
    assert document["bottleneck"] in text


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_every_listed_machine_is_explained_in_full(name):
    small = name.startswith("ixp2400")  # elasticities of the others take minutes
    load = LOAD if design(name).own is None else None
    e = explain(design(name), load, packets=500, elasticities=small, changes=True)
    assert e.what_if is not None
    assert e.what_if.changes
    assert (e.sensitivity is not None) == small
    assert str(e)
    assert e.plot().data
    assert "headroom" in e.to_dict()


@pytest.mark.slow
def test_machines_of_the_users_own_are_explained_in_full(tmp_path):
    from npexplore.paths import share

    toml = tmp_path / "mine.toml"
    text = share("models", "machines", "ixp2400.toml").read_text()
    toml.write_text(text.replace('name = "ixp2400"', 'name = "mine"\nextends = "ixp2400"', 1))
    assert explain(design(toml), LOAD, packets=300).what_if.changes
    python = tmp_path / "mine.py"
    python.write_text(
        "from npexplore.machine.machine import Machine, Pool\n"
        "from npexplore.machine.resources import Processor\n"
        "from npexplore.machine.resources.ingress import Ingress\n"
        "def forward(m, packet):\n    m.me.compute(cycles=100)\n    m.receive.free(bytes=packet.packet_bytes)\n"
        "design = Machine('mine', Pool('thread', 4, forward, home='me'), Ingress('receive', 8192, 1),\n"
        "                 {'me': Processor('me', 2, 1e9)})\n"
    )
    e = explain(design(python), LOAD, packets=300)
    assert e.best.rate_pps == pytest.approx(2e7, rel=0.02)
    assert e.what_if.changes == ()  # it has no parameters
    assert e.plot().data


def test_what_binds_by_one_member_is_not_said_to_be_idle_nor_tied_with_what_is_spread():
    def program(m, packet):
        m.one.serve(member=0)
        m.all.serve(member=m.draw(4, "all"))

    servers = [FifoServer("one", 1e-7, members=4), FifoServer("all", 1e-7, members=4)]
    answer = explain(
        npexplore.design(Machine("uneven", Pool("thread", 8, program), resources=servers)), LOAD, changes=False
    )
    binds = str(answer).split("\n")[1]
    assert binds == "What binds is one: one of its members is nearly always busy, all of them 25 % of the time."
