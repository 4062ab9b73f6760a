"""`npexplore designs`, `explain`, `sweep` as a user types them: documents, tables, exit statuses, one-line errors."""

import json
import shutil
import struct
from pathlib import Path

import pandas as pd
import pytest

from npexplore.cli import main
from npexplore.designs import DESIGNS, design
from npexplore.paths import share
from npexplore.study.explaining import explain as explaining

FIELDS = [
    "throughput_bps", "rate_mpps", "counted", "bottleneck", "bounds", "queueing", "simulated", "utilization",
    "latency_ns", "drops", "sensitivity", "assumptions", "seed",
]  # fmt: skip
WIKIPEDIA = str(share("data", "captures", "zeek_wikipedia.pcap"))
QUICK = ["--packet-bytes", "64", "--no-sensitivity"]


def run(capsys, *arguments):
    status = main(list(arguments))
    out, err = capsys.readouterr()
    return status, out, err


def document(capsys, *arguments):
    status, out, err = run(capsys, *arguments, "--json")
    assert status == 0, err
    return json.loads(out)


def capture(path, frames, cut=0):
    """Write a little-endian pcap of Ethernet frames, the last `cut` bytes missing."""
    data = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    for second, frame in enumerate(frames):
        data += struct.pack("<IIII", second, 0, len(frame), len(frame)) + frame
    path.write_bytes(data[: len(data) - cut])
    return str(path)


ETHERNET = bytes(12)
ARP = ETHERNET + b"\x08\x06" + bytes(46)
IPV4 = (
    ETHERNET + b"\x08\x00" + struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40, 0, 0, 64, 6, 0, bytes(4), bytes(4)) + bytes(26)
)


# ---- designs


def test_designs_are_listed_with_their_knobs(capsys):
    rows = {row["name"]: row for row in document(capsys, "designs")["designs"]}
    assert set(rows) == set(DESIGNS)
    assert rows["ixp2400"]["paper"] == "ixp2400_buffering"
    file = design("ixp2400").parameters.file
    assert rows["ixp2400"]["knobs"] == sum(one.kind == "knob" for one in file.parameter.values())
    assert rows["ixp2400"]["needs_workload"] is True
    assert rows["ixp2400_dram"]["needs_workload"] is False
    assert "ixp2400_dram" in run(capsys, "designs")[1]


# ---- explain


def test_every_key_of_the_contract_is_there(capsys):
    found = document(capsys, "explain", "ixp2400", "--packet-bytes", "64", "--set", "hash_ns=2000")
    assert list(found)[: len(FIELDS)] == FIELDS
    assert set(found["latency_ns"]) == {"mean", "p50", "p95", "p99"}
    assert all(set(share) == {"busy", "blocked"} for share in found["utilization"].values())
    assert found["sensitivity"][0]["knob"] == "hash_ns"
    assert found["sensitivity"][0]["elasticity"] == pytest.approx(-1, abs=0.02)
    assert {"bounds", "queueing", "simulated", "noise", "less", "more"} < set(found["sensitivity"][0])
    sizes = [abs(row["elasticity"]) for row in found["sensitivity"]]
    assert sizes == sorted(sizes, reverse=True)
    assert 0.5 * found["bounds"] < found["simulated"] <= 1.01 * found["bounds"]
    assert found["refused"] == dict.fromkeys(("bounds", "queueing", "simulated", "estimate"))
    assert {"kind", "name", "value", "about", "source"} < set(found["assumptions"][0])


def test_settings_seeds_and_workloads_reach_the_machine(capsys):
    found = document(
        capsys, "explain", "ixp2400", "--mix", "dos", "--set", "bus_bits=128", "--set", "scheme=hb", "--seed", "9",
        "--seeds", "2", "--packets", "500", "--arrivals", "poisson", "--rate", "1Gb/s", "--no-sensitivity",
    )  # fmt: skip
    assert found["knobs"] == {"bus_bits": 128, "scheme": "hb"}
    assert found["seed"] == 9
    assert found["workload"]["offered_mpps"] == pytest.approx(1e9 / 512 / 1e6)
    assert found["solvers"]["simulated"]["about"]["seeds"] == 2
    assert 500 <= found["solvers"]["simulated"]["about"]["packets"] < 600
    assert found["bottleneck"] == "arrivals"
    assert found["sensitivity"] is None


def test_the_answer_and_what_to_do_stand_in_the_first_ten_lines(capsys):
    status, out, err = run(capsys, "explain", "ixp2400", *QUICK, "--full")
    assert (status, err) == (0, "")
    first = out.splitlines()[:10]
    assert first[0].startswith("ixp2400 forwards 64 bytes at ")
    assert first[2].startswith("Relieve dram.bus, which binds; ")
    assert first[3].startswith("A packet takes ")
    assert "" in first  # the tables come after
    for words in ("What binds is dram.bus", "solver", "resource", "latency ns", "assumption"):
        assert words in out


@pytest.mark.parametrize("machine", sorted(DESIGNS))
def test_an_explanation_is_a_screen_unless_all_is_asked_for(capsys, machine):
    status, out, _ = run(capsys, "explain", machine, "--no-sensitivity")
    lines = out.splitlines()
    assert status == 0
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 100
    assert lines[0].startswith(f"{machine} forwards ")
    assert any(line.startswith("estimate ") for line in lines)


@pytest.mark.parametrize("length", [60, 110])
def test_an_explanation_is_a_screen_whatever_names_a_machine_has(capsys, tmp_path, length):
    name = "stage_of_a_hierarchy_" + "x" * (length - 21)
    stages = "".join(f'[resource.{name}{k}]\ntype = "server"\nservice_s = "{9 - k} ns"\n' for k in range(3))
    steps = "".join(f"m.{name}{k}.serve()\n" for k in range(3))
    pool = f'[[pool]]\nname = "{name}_pool"\ncount = 8\nprogram = """\n{steps}m.receive.free(bytes=64)\n"""\n'
    receive = "[receive]\ncapacity_bytes = 8192\ncell_bytes = 64\n"
    (tmp_path / "long.toml").write_text(f'name = "{name}"\ntitle = "Long names"\n{receive}{stages}{pool}')
    status, out, _ = run(capsys, "explain", str(tmp_path / "long.toml"), "--packet-bytes", 64)
    lines = out.splitlines()
    assert status == 0
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 100
    assert f"{name}0" in "".join(out.split())


def test_a_screen_has_the_best_changes_and_no_table_of_parameters(capsys, monkeypatch):
    monkeypatch.setattr(explaining, "sensitivity_in_stages", lambda *_, **__: pytest.fail("nobody reads elasticities"))
    _, out, _ = run(capsys, "explain", "ixp2400_dram")
    text = " ".join(out.split())
    assert len(out.splitlines()) <= 25
    assert "The best single changes: " in text
    assert "elasticities" not in out
    assert out.endswith("effects of all parameters, assumptions: --full\n")


def test_without_a_load_packets_are_the_shortest_and_that_is_said(capsys):
    status, out, err = run(capsys, "explain", "ixp2400", "--no-sensitivity")
    assert status == 0
    assert out.startswith("ixp2400 forwards 64 bytes at ")
    assert err == "no load was given: packets of 64 bytes (--packet-bytes, --mix, --trace give another)\n"


def test_where_a_packets_time_goes_is_told_by_every_solver(capsys):
    found = document(capsys, "explain", "ixp2400", *QUICK)["breakdown"]
    assert set(found) == {"bounds", "queueing", "simulated"}
    assert {"p50", "p99"} <= found["simulated"].keys()
    for one in (*found.values(), found["simulated"]["p50"], found["simulated"]["p99"]):
        times = [part[kind] for part in one["parts"] for kind in ("service_ns", "waiting_ns", "held_ns")]
        assert sum(times) == pytest.approx(one["latency_ns"], rel=1e-9)
    timed = ["--trace", WIKIPEDIA, "--arrivals", "timestamps", "--no-sensitivity"]
    refused = document(capsys, "explain", "ixp1200", *timed)
    assert refused["refused"]["queueing"]
    assert refused["breakdown"]["queueing"] is None


def test_threads_that_bind_are_told_with_what_they_wait_for(capsys):
    _, out, _ = run(capsys, "explain", "ixp2400", *QUICK, "--set", "threads=3", "--set", "banks=2")
    text = " ".join(out.split())
    assert " More threads, or less waiting for dram.bank: " in text
    assert "no resource is full. They wait for dram.bank (" in text
    _, out, _ = run(capsys, "explain", "ixp2400", *QUICK, "--set", "threads=2")
    assert "They wait for nobody: their own work takes so long." in " ".join(out.split())  # 6 of 1,303 ns


def test_formulas_are_told_as_text_and_as_a_document(capsys):
    _, out, _ = run(capsys, "explain", "ixp2400_dram", "--formula")
    assert "dram.bus = 125000*bus_bits*bus_clock_mhz/(bus_overhead_bytes + 64)   [20,000,000 packets/s]" in out
    found = document(capsys, "explain", "ixp2400_dram", "--formula")
    assert found["ceilings"][0]["name"] == "dram.bus"
    assert found["latency"]["today"] == pytest.approx(1.45e-07)
    assert {"elasticities", "crossings", "values", "refused", "given"} < found.keys()


def test_the_page_says_what_was_asked_and_when(capsys, tmp_path):
    page = tmp_path / "a.html"
    status, _, _ = run(capsys, "explain", "ixp2400", *QUICK, "--set", "banks=8", "--html", str(page))
    assert status == 0
    text = page.read_text()
    command = f"npexplore explain ixp2400 --set banks=8 --packet-bytes 64 --no-sensitivity --html {page}"
    assert f"<code>{command}</code>" in text
    assert "banks = 8" in text
    assert " UTC · seed 1" in text
    assert "Where a packet&#39;s time goes" in text or "Where a packet's time goes" in text


def test_a_design_with_its_own_workload_takes_none(capsys):
    found = document(capsys, "explain", "ixp2400_dram", "--set", "narrow_share=0.5", "--no-sensitivity")
    assert found["counted"] == "DRAM bytes"
    found = document(capsys, "explain", "ixp2400_dram", *QUICK, "--no-sensitivity")
    assert found["workload"]["note"] == "each packet is one access of its length"


def test_own_packets_of_a_design_arrive_otherwise(capsys):
    rated = ("--arrivals", "poisson", "--rate", "1kpps", "--no-sensitivity")
    found = document(capsys, "explain", "soclib", *rated)
    assert (found["workload"]["arrivals"], found["bottleneck"]) == ("poisson", "arrivals")
    status, out, err = run(capsys, "explain", "soclib", "--arrivals", "poisson")
    assert (status, out, err) == (2, "", "npexplore: arrivals 'poisson' need a rate (for example 2.5Mpps)\n")


def test_a_capture_is_played_faster(capsys):
    ask = ("explain", "smartnic", "--trace", WIKIPEDIA, "--no-sensitivity")
    rate = document(capsys, *ask, "--arrivals", "timestamps", "--rate", "2kpps")["rate_mpps"]
    assert rate == pytest.approx(2e-3, rel=0.01)
    twice, once = (document(capsys, *ask, "--speed", speed)["rate_mpps"] for speed in ("2", "1"))
    assert twice == pytest.approx(2 * once, rel=0.01)
    for options, said in (
        (("--speed", "-1"), "--speed must be greater than 0 and finite, got -1.0"),
        (("--speed", "2", "--rate", "1Mpps"), "--rate and --speed both say how fast packets come; leave one out"),
    ):
        assert run(capsys, *ask, *options) == (2, "", f"npexplore: {said}\n")


def test_a_capture_is_brought_to_a_design_with_its_own_workload(capsys, tmp_path):
    status, out, err = run(capsys, "explain", "soclib", "--trace", WIKIPEDIA, "--no-sensitivity", "--json")
    found = json.loads(out)
    assert status == 0
    assert (found["knobs"], round(found["workload"]["mean_packet_bytes"])) == ({}, 182)  # of its own lengths
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(Path(WIKIPEDIA).read_bytes()[:5000])
    status, out, err = run(capsys, "explain", "soclib", "--trace", str(cut), "--no-sensitivity", "--json")
    assert status == 3  # damaged: what there is counts all the same
    assert json.loads(out)["workload"]["damage"]
    assert "packets read are used" in err


def test_a_refused_solver_is_null_and_its_reason_on_stderr(capsys):
    status, out, err = run(
        capsys, "explain", "ixp1200", "--trace", WIKIPEDIA, "--arrivals", "timestamps", "--no-sensitivity", "--json"
    )
    found = json.loads(out)
    assert status == 0
    assert found["queueing"] is None
    assert "recorded arrival times are not a random process" in found["refused"]["queueing"]
    assert "no answer by queueing" in err
    assert "10 of 136 packets are not IP and left out" in err
    assert found["workload"]["note"] == "10 of 136 packets are not IP and left out"


def test_parts_that_are_never_busy_are_named_in_one_line(capsys):
    _, out, _ = run(
        capsys, "explain", "raw", "--packet-bytes", "64", "--set", "version=v3", "--no-sensitivity", "--full"
    )
    never = next(line for line in out.splitlines() if line.startswith("never busy: "))
    assert "static2 (" in never
    assert not any(line.startswith("static2.") for line in out.splitlines())


def test_what_is_never_busy_is_not_named_like_what_is(capsys):
    _, out, _ = run(capsys, "explain", "smartnic", *QUICK, "--full")
    busy = {line.split()[0] for line in out.split("busy %")[1].split("\n\n")[0].splitlines()[2:]}
    never = next(line for line in out.splitlines() if line.startswith("never busy: "))
    named = {name.split()[0] for name in never.removeprefix("never busy: ").split(", ")}
    assert not named & {part for name in busy for part in (name, name.partition(".")[0])}


def test_a_knob_that_nothing_reads_is_told(capsys):
    status, _, err = run(capsys, "explain", "ixp2400", *QUICK, "--set", "full_tail=dram")
    assert status == 0
    assert err == "npexplore: warning: full_tail has no effect here: the machine does not read it with these settings\n"


def test_a_damaged_capture_is_explained_as_far_as_it_goes(capsys, tmp_path):
    path = capture(tmp_path / "cut.pcap", [IPV4] * 5, cut=7)
    status, out, err = run(capsys, "explain", "ixp2400", "--trace", path, "--no-sensitivity", "--json")
    assert status == 3
    assert json.loads(out)["workload"]["packets"] == 4
    assert json.loads(out)["workload"]["damage"]
    assert "the 4 packets read are used" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("frames", "cut", "message"),
    [
        ([ARP, ARP], 0, "capture 'a.pcap' has no IPv4 or IPv6 packet among its 2\n"),
        ([], 0, "capture 'a.pcap' has no IPv4 or IPv6 packet among its 0\n"),
        ([IPV4], 9, "capture 'a.pcap' has no IPv4 or IPv6 packet among its 0 (damaged: "),
    ],
)
def test_a_capture_without_ip_is_one_line(capsys, tmp_path, frames, cut, message):
    path = capture(tmp_path / "a.pcap", frames, cut)
    status, out, err = run(capsys, "explain", "ixp2400", "--trace", path)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("npexplore: " + message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "explain needs a DESIGN (ixp2400, ixp2400_dram"),
        (["ixp240", *QUICK], "design 'ixp240' is unknown (nearest: ixp2400"),
        (["ixp2400", *QUICK, "--mix", "amp"], "got --mix and --packet-bytes"),
        (["ixp2400", "--mix", "anp"], "mix 'anp' is unknown (nearest: amp"),
        (["ixp1200", "--packets", "10"], "design ixp1200 measures a fixed time, 2.5 ms from 1 ms on"),
        (["ixp2400", "--packet-bytes", "-4"], "packet_bytes must be greater than 0 and finite, got -4"),
        (["ixp2400", "--trace", "no.pcap"], "no.pcap"),
        (["ixp2400", *QUICK, "--set", "bank=4"], "knob of ixp2400 'bank' is unknown (nearest: banks"),
        (["ixp2400", *QUICK, "--set", "banks"], "--set needs knob=value, got 'banks'"),
        (["ixp2400", *QUICK, "--set", "banks=4,8"], "--set banks takes one value here, got 4,8 (sweep takes several)"),
        (["ixp2400", *QUICK, "--set", "banks=4", "--set", "banks=8"], "--set banks is given twice"),
        (["ixp2400", *QUICK, "--set", "banks=four"], "knob banks must be a whole number in 1..64, got 'four'"),
        (["ixp2400", *QUICK, "--set", "banks=inf"], "knob banks must be finite, got 'inf'"),
        (["ixp2400", *QUICK, "--set", "banks=4.5"], "knob banks must be a whole number in 1..64, got '4.5'"),
        (["ixp2400", *QUICK, "--set", "scheme=fbc"], "knob scheme must be one of base, hb, fcb, fcb_tb, got 'fbc'"),
        (["ixp2400", *QUICK, "--arrivals", "poison"], "arrivals 'poison' is unknown (nearest: poisson"),
        (["ixp2400", *QUICK, "--arrivals", "poisson"], "arrivals 'poisson' need a rate (for example 2.5Mpps)"),
        (["ixp2400", *QUICK, "--arrivals", "poisson", "--rate", "-2Mpps"], "rate must be greater than 0, got '-2Mpps'"),
        (["ixp2400", *QUICK, "--arrivals", "poisson", "--rate", "2 apples"], "rate must be a number with a unit"),
        (
            ["ixp2400", *QUICK, "--rate", "2Mpps"],
            "a rate needs poisson or periodic arrivals, or timestamps, got 'saturated'",
        ),
        (["ixp2400", *QUICK, "--arrivals", "timestamps"], "has no time stamps; choose"),
        (
            ["ixp2400", *QUICK, "--set", "scheme=fcb_tb", "--set", "threads=64", "--set", "scratch_bytes=64"],
            "scratchpad",
        ),
    ],
)
def test_wrong_usage_is_one_line_with_what_would_be_right(capsys, arguments, message):
    status, out, err = run(capsys, "explain", *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_knobs_have_type_unit_range_default_and_source(capsys):
    rows = {row["knob"]: row for row in document(capsys, "explain", "ixp2400", "--knobs", "--set", "banks=8")["knobs"]}
    banks = rows["banks"]
    assert (banks["type"], banks["value"], banks["default"], banks["range"]) == ("integer", 8, 4, "1..64")
    assert (rows["scheme"]["type"], rows["scheme"]["choices"]) == ("choice", ["base", "hb", "fcb", "fcb_tb"])
    assert (rows["hash_ns"]["type"], rows["hash_ns"]["unit"], rows["hash_ns"]["kind"]) == ("number", "ns", "fitted")
    assert all(row["source"] and row["about"] for row in rows.values())
    kinds = [row["kind"] for row in rows.values()]
    assert kinds == sorted(kinds, key=lambda kind: kind != "knob")
    assert "fcb_tb" in run(capsys, "explain", "ixp2400", "--knobs")[1]


@pytest.mark.parametrize("arguments", [["--mixes"], ["ixp2400", "--mixes"]])
def test_mixes_have_their_means_and_sources(capsys, arguments):
    rows = {row["name"]: row for row in document(capsys, "explain", *arguments)["mixes"]}
    assert {"dos", "amp", "frg", "psc"} <= set(rows)
    assert rows["dos"]["mean_packet_bytes"] == 64
    assert rows["amp"]["below_64"] == pytest.approx(0.2, abs=0.05)
    assert all(all(row["sources"]) for row in rows.values())


# ---- sweep


def sweep(tmp_path, *more):
    return ["sweep", "ixp2400", "--packet-bytes", "64", "--packets", "200", "--out", str(tmp_path / "a.parquet"), *more]


def test_a_sweep_writes_a_table_that_pandas_reads(capsys, tmp_path):
    settings = ("--set", "banks=4,8", "--set", "scheme=base,hb")
    found = document(
        capsys, *sweep(tmp_path, *settings, "--seeds", "2", "--solver", "simulation", "--solver", "bounds")
    )
    rows = pd.read_parquet(tmp_path / "a.parquet")
    assert found == {"out": str(tmp_path / "a.parquet"), "points": 12, "refused": 0, "rows_in_file": 12}
    assert len(rows) == 12
    assert rows.groupby(["banks", "scheme", "solver"]).size().tolist() == [1, 2] * 4
    assert {"throughput_bps", "rate_mpps", "bottleneck", "latency_p99_ns", "utilization_hash", "version", "model",
            "seed", "threads"} <= set(rows)  # fmt: skip


def test_a_sweep_goes_on_only_if_asked(capsys, tmp_path):
    assert run(capsys, *sweep(tmp_path, "--set", "banks=4"))[0] == 0
    status, out, err = run(capsys, *sweep(tmp_path, "--set", "banks=8"))
    assert (status, out) == (2, "")
    assert "holds a sweep already; resume it (--resume)" in err
    status, out, err = run(capsys, *sweep(tmp_path, "--set", "banks=8", "--resume"))
    assert status == 0
    assert "also keeps 1 row of other points, models or versions" in err
    assert len(pd.read_parquet(tmp_path / "a.parquet")) == 2


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("mine.csv", "mine.csv: not a Parquet file"),
        ("folder", "folder: is a folder; a sweep needs the name of a file"),
        ("none/a.parquet", "none' does not exist"),
    ],
)
def test_a_file_that_holds_no_sweep_is_told_as_what_it_is(capsys, tmp_path, out, message):
    (tmp_path / "folder").mkdir()
    (tmp_path / "mine.csv").write_text("a,b\n")
    for more in ((), ("--resume",)):
        status, _, err = run(capsys, *sweep(tmp_path, "--out", str(tmp_path / out), *more))
        assert status == 2
        assert message in err
    assert (tmp_path / "mine.csv").read_text() == "a,b\n"


def test_a_machine_that_measures_a_fixed_time_takes_no_packets(capsys, tmp_path):
    out = str(tmp_path / "a.parquet")
    status, _, err = run(capsys, "sweep", "ixp1200", "--packets", "300", "--out", out)
    assert status == 2
    assert "design ixp1200 measures a fixed time, 2.5 ms from 1 ms on, and takes no --packets" in err


def test_impossible_points_are_rows_and_told(capsys, tmp_path):
    status, out, err = run(capsys, *sweep(tmp_path, "--set", "scheme=base,fcb_tb", "--set", "segment_bytes=4096"))
    assert status == 0
    assert "1 of 2 points have no answer: scheme fcb_tb needs" in err
    assert out.startswith("2 points in ")


def test_a_sweep_of_a_damaged_capture_ends_with_its_own_status(capsys, tmp_path):
    path = capture(tmp_path / "cut.pcap", [IPV4] * 3, cut=7)
    status, _, err = run(
        capsys, "sweep", "ixp2400", "--trace", path, "--solver", "bounds", "--out", str(tmp_path / "a.parquet")
    )
    assert status == 3
    assert "the 2 packets read are used" in err
    assert pd.read_parquet(tmp_path / "a.parquet")["workload"].tolist() == ["cut.pcap"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--set", "bank=4,8"], "knob of ixp2400 'bank' is unknown (nearest: banks"),
        (["--set", "banks=4,,8"], "--set needs knob=value, got 'banks=4,,8'"),
        (["--set", "banks=4,99"], "knob banks must be in 1..64, got '99'"),
        (["--solver", "mva"], "solver 'mva' is unknown (known: bounds, estimate, queueing, rtl, simulation)"),
        (["--packet-bytes", "x"], "--packet-bytes must be a whole number, got 'x'"),
        (["--cluster", "tcp://localhost:1", "--workers", "2"], "--cluster brings its own workers"),
        (["--cluster", "localhost"], "address of a cluster must be tcp://HOST:PORT"),
        (["--set", "banks=4..x"], "span of knob banks must be LOW..HIGH or LOW..HIGH:log, got '4..x'"),
        (["--set", "banks=4..8", "--sample", "sobol"], "--sample needs METHOD:N, as in sobol:256, got 'sobol'"),
    ],
)
def test_a_wrong_sweep_is_one_line_and_leaves_no_file(capsys, tmp_path, more, message):
    status, out, err = run(capsys, *sweep(tmp_path, *more))
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert list(tmp_path.iterdir()) == []


def test_a_machine_file_of_the_users_own_is_explained_and_swept(capsys, tmp_path):
    machine = tmp_path / "faster.toml"
    shutil.copy(share("models", "machines", "ixp2400.toml"), machine)
    machine.write_text(machine.read_text().replace('name = "ixp2400"', 'name = "faster"\nextends = "ixp2400"'))
    assert document(capsys, "explain", str(machine), *QUICK)["design"] == "faster"
    status, _, _ = run(
        capsys,
        "sweep",
        str(machine),
        "--packet-bytes",
        "64",
        "--solver",
        "bounds",
        "--out",
        str(tmp_path / "a.parquet"),
    )
    assert status == 0
    assert pd.read_parquet(tmp_path / "a.parquet")["design"].tolist() == ["faster"]
