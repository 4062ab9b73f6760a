"""A ledger of the user's own: begun by a command, of a listed design or of his machine, checked and calibrated to."""

import json
from pathlib import Path

import pytest

import npexplore as npx
from npexplore.cli import main
from npexplore.designs import with_machines
from npexplore.study.checking.results import read_results

LOAD = npx.workload(packet_bytes=64)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine of the user's own, in his folder."""
    monkeypatch.chdir(tmp_path)
    assert main(["new", "mine"]) == 0
    return npx.design("mine.toml")


def ledger(rows, path="lab.csv"):
    head = "design,mix,cores,packet_cycles,quantity,value,unit,lo,hi,role"
    Path(path).write_text("\n".join([head, *rows]) + "\n")


def test_a_ledger_that_is_begun_is_checked_as_it_stands(machine, capsys):
    assert main(["new", "lab", "--ledger", "mine.toml"]) == 0
    capsys.readouterr()
    assert main(["check", "--design", "mine.toml", "--results", "lab.csv", "--seeds", "2", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["results"]
    assert (row["design"], row["quantity"], row["role"], row["our_verdict"]) == (
        "mine",
        "throughput",
        "check",
        "inside",
    )
    assert row["predicted"] == pytest.approx(machine.bounds(LOAD).throughput_bps / 1e6, rel=0.2)
    assert main(["new", "lab", "--ledger", "mine.toml"]) == 2
    assert "lab.csv exists" in capsys.readouterr().err


def test_points_with_knobs_are_predicted_there_and_judged_by_their_intervals(machine, capsys):
    rate = machine.with_(cores=1).bounds(LOAD).rate_pps / 1e6
    ledger([
        f"mine,64 bytes,1,,packet rate,{rate:.4f},Mpps,{0.95 * rate:.4f},{1.05 * rate:.4f},check",
        f"mine,64 bytes,2,,packet rate,{rate:.4f},Mpps,{0.95 * rate:.4f},{1.05 * rate:.4f},check",
    ])  # fmt: skip
    assert main(["check", "--design", "mine.toml", "--results", "lab.csv", "--seeds", "2", "--json"]) == 0
    one, two = json.loads(capsys.readouterr().out)["results"]
    assert (one["our_verdict"], two["our_verdict"]) == ("inside", "off")
    assert two["predicted"] == pytest.approx(2 * one["predicted"], rel=0.1)


def test_who_says_so_stands_in_a_column_and_the_verdict_in_the_table(machine, capsys):
    Path("lab.csv").write_text(
        "design,mix,quantity,value,unit,lo,hi,where\nmine,64 bytes,packet rate,1,Mpps,0.9,1.1,bench of 3 May\n"
    )
    assert main(["check", "--design", "mine.toml", "--results", "lab.csv", "--seeds", "2"]) == 0
    head, _, row = capsys.readouterr().out.splitlines()
    assert head.endswith("our verdict")
    assert row.endswith("off")
    with with_machines({"mine": machine}):
        (made,) = read_results("lab.csv").own
    assert (made.where, made.lo, made.hi) == ("bench of 3 May", 0.9, 1.1)


def test_a_parameter_is_fitted_to_rows_of_role_calibration(machine, capsys):
    rate = machine.with_(cores=1, packet_cycles=450).simulate(LOAD, packets=2000).rate_pps / 1e6
    ledger([
        f"mine,64 bytes,1,,packet rate,{rate:.5f},Mpps,{0.99 * rate:.5f},{1.01 * rate:.5f},calibration",
        "mine,64 bytes,4,,packet rate,1,Mpps,,,check",
    ])  # fmt: skip
    asked = ["calibrate", "mine.toml", "--free", "packet_cycles=300,450,600", "--ledger", "lab.csv", "--no-profile"]
    assert main([*asked, "--packets", "500", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["values"] == {"packet_cycles": 450}
    assert [row["key"] for row in document["rows"]] == ["mine.lab.line2"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("mine,64 bytes,1,,packet rate,5,Mpps,6,7,check", "lab.csv:2: the value must lie in lo..hi, got 5 and 6..7"),
        ("mine,64 bytes,1,,packet rate,5,Mpps,4,x,check", "lab.csv:2: column 'hi' must be a finite number, got 'x'"),
        ("mine,64 bytes,1,,packet rate,5,Mpps,,,checked", "column 'role': 'checked' is unknown (nearest: check"),
        ("mine,64 bytes,1,,packet rates,5,Mpps,,,check", "column 'quantity': 'packet rates' is unknown"),
        ("their,64 bytes,1,,packet rate,5,Mpps,,,check", "column 'design': 'their' is unknown"),
    ],
)
def test_a_row_that_cannot_be_is_one_line(machine, capsys, row, message):
    ledger([row])
    capsys.readouterr()
    assert main(["check", "--design", "mine.toml", "--results", "lab.csv"]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
