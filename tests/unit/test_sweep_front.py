"""Fronts of sweeps: what a hand calculation keeps, and what cannot be meant."""

import json

import pytest

from npexplore.cli import main

# bounds of 1 to 4 cores of 1 GHz and 100 cycles, of which the fourth gains nothing behind a server of 30 Mpps
MACHINE = """
name = "small"
title = "cores before a server"
[parameter.cores]
kind = "knob"
value = 1
about = "cores"
source = "assumed"
[resource.core]
type = "processor"
engines = "= p.cores"
clock_hz = 1e9
[resource.table]
type = "server"
service_s = "= 1 / 30e6"
[[pool]]
name = "packet"
count = 64
home = "core"
program = '''
m.core.compute(cycles=100)
m.table.serve()
'''
"""
PRICES = """
name = "usd"
unit = "USD"
per.base = { value = 10, source = "assumed" }
per.cores = { value = 5, source = "assumed" }
"""


def swept(folder, *more):
    (folder / "small.toml").write_text(MACHINE)
    (folder / "usd.toml").write_text(PRICES)
    ask = ("--set", "cores=1,2,3,4", "--packet-bytes", "64", "--solver", "bounds", "--out", str(folder / "x.parquet"))
    return main(["sweep", str(folder / "small.toml"), *ask, *more])


def test_a_front_keeps_what_gains_for_its_cost(tmp_path, capsys):
    prices = str(tmp_path / "usd.toml")
    assert swept(tmp_path, "--front", "throughput:cost", "--prices", prices, "--json") == 0
    front = json.loads(capsys.readouterr().out)["front"]
    assert [(one["cores"], one["cost"], round(one["rate_mpps"], 9)) for one in front] == [
        (3, 25, 30), (2, 20, 20), (1, 15, 10),
    ]  # fmt: skip
    assert swept(tmp_path, "--front", "throughput:usd", "--prices", prices, "--resume") == 0
    assert "3 of 4 points" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        (("--front", "throughput"), "--front needs MERIT:COST"),
        (("--front", "troughput:luts"), "merit of a front 'troughput' is unknown (nearest: throughput)"),
        (("--front", "throughput:lutz"), "cost of a front 'lutz' is unknown (nearest: luts"),
        (("--front", "throughput:cost"), "needs --prices TOML"),
        (("--prices", "usd.toml"), "there is no --front"),
    ],
)
def test_a_front_that_cannot_be_meant_is_told_before_anything_is_computed(tmp_path, capsys, monkeypatch, more, fault):
    monkeypatch.chdir(tmp_path)
    assert swept(tmp_path, *more) == 2
    assert fault in capsys.readouterr().err
    assert not (tmp_path / "x.parquet").exists()
