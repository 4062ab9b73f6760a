"""The usual study of one machine: its questions, its page, what it says where a question has no answer."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import npexplore as npx
from npexplore.cli import main
from npexplore.cli.study import text as text_of
from npexplore.errors import InputError
from npexplore.solve.prediction import Prediction
from npexplore.study.explaining.joint import ties
from npexplore.study.explaining.whatif import WhatIf
from npexplore.study.machine_study import front_knobs, study_machine, usual_workloads
from npexplore.study.optimising.prices import Price, PriceFile

MACHINE = (
    """
name = "small"
title = "a core behind a port"
parameter.cores = { kind = "knob", value = 2, min = 1, max = 4, about = "cores", source = "assumed" }
parameter.cycles = { kind = "assumption", value = 300, min = 1, unit = "cycles", about = "work", source = "assumed" }
receive = { capacity_bytes = "64 KiB", cell_bytes = 64 }
resource.port = { type = "ethernet_port", gbps = 100 }
resource.core = { type = "processor", engines = "= p.cores", clock_hz = "2 GHz" }

[[pool]]
name = "packet"
count = "= p.cores"
home = "core"
program = """
    + '''"""
m.port.receive(bytes=packet.packet_bytes)
m.core.compute(cycles=p.cycles)
m.receive.free(bytes=packet.packet_bytes)
"""
'''
)
ASSUMED = Price(value=1.0, source="assumed for a test")
COINS = PriceFile(name="coins", unit="USD", per={"cores": ASSUMED})


def test_one_page_answers_every_question(capsys: Any, tmp_path: Any) -> None:
    prices = tmp_path / "coins.toml"
    prices.write_text('name = "coins"\nunit = "USD"\nper.cores = { value = 20, source = "assumed" }\n')
    machine, page = tmp_path / "small.toml", tmp_path / "all" / "small_study.html"
    machine.write_text(MACHINE)
    assert main(["study", str(machine), "--prices", str(prices), "--out", str(page.parent), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert json.loads(page.with_suffix(".json").read_text()) == answer
    assert [row["workload"] for row in answer["rates"]][-1] == "frames of 64 bytes"
    for row, one in zip(answer["rates"], answer["explanations"], strict=True):
        assert row["Mpps"] == one["rate_mpps"]
        assert row["counted"] == one["counted"]
        assert row["% of line rate"] == pytest.approx(100 * one["line_rate"]["share"])
    shares = [p["offered_mpps"] for p in answer["load"]["points"] if p["solver"] == "estimate"]
    assert np.divide(shares, answer["rates"][-1]["Mpps"]) == pytest.approx([0.1, 0.5, 0.9], rel=0.03)
    assert list(answer["load"]["points"][-1]["latency_ns"]) == ["mean", "p50", "p95", "p99", "p999"]
    assert answer["front"]["front"]
    assert not answer["refused"]
    text = page.read_text()
    for section in ("rates", "latency", "time", "changes", "front", "assumptions"):
        assert f'id="{section}"' in text, section
    for assumption in answer["explanations"][-1]["assumptions"]:
        assert assumption["name"] in text


def test_a_study_whose_time_is_over_tells_rates_and_what_it_left_out() -> None:
    answer = study_machine("smartnic", workloads=[64], prices=[COINS], budget_s=0.0)
    assert answer.records()[0]["Mpps"] == pytest.approx(100, rel=0.01)
    assert (answer.load, answer.front, answer.subject.what_if) == (None, None, None)
    assert set(answer.refused) == {"what would help", "latency under load", "front"}
    assert all("the time of 0 s for this study is over" in reason for reason in answer.refused.values())
    assert "No answer, front: the time of 0 s" in text_of(answer, Path("page.html"))


def test_as_busy_resources_bind_together() -> None:
    shares = {
        "rx": (0.99, 0.0),
        "tx": (0.985, 0.0),
        "core": (0.9, 0.0),
        "stage": (0.99, 0.3),
        "gate": (0.99, 0.0),
        "threads.in": (0.99, 0.0),
    }
    use = {name: SimpleNamespace(busy=busy, blocked=blocked) for name, (busy, blocked) in shares.items()}
    best = SimpleNamespace(bottleneck="rx", utilization=use, rate_pps=5e7)
    ceilings = {f"ceiling_pps.{name}": 1e8 for name in use if name != "gate"}
    bound = Prediction("bounds", 1e9, 1e8, "packet bytes", "rx", {}, about=ceilings)
    assert ties(best, bound) == ["rx", "tx"]  # type: ignore[arg-type]
    one_member = replace(bound, about={**ceilings, "ceiling_pps.rx": 5e7})  # the others of tx rest, and rx has one
    assert ties(best, one_member) == ["rx"]  # type: ignore[arg-type]
    best.bottleneck = "threads"
    assert ties(best, bound) == ["threads"]  # type: ignore[arg-type]


def test_front_takes_priced_numbers_alone() -> None:
    design = npx.design("smartnic")
    load = npx.workload(packet_bytes=64)
    known = front_knobs(design, load, [COINS], WhatIf())
    present = design.parameters["cores"]
    assert list(known) == ["cores"]
    assert present in known["cores"]
    assert len(known["cores"]) > 1
    both = PriceFile(name="coins", unit="USD", per={"cores": ASSUMED, "lanes": ASSUMED})
    assert len(front_knobs(design, load, [both], WhatIf())) == 2
    assert len(front_knobs(design, load, [both], WhatIf(), left_s=4.0)) == 1  # nine points of a second each
    with pytest.raises(InputError, match="charge no knob of smartnic that can be changed: base"):
        front_knobs(design, load, [PriceFile(name="coins", unit="USD", per={"base": ASSUMED})], WhatIf())


def test_machines_with_packets_of_their_own_are_studied_on_these() -> None:
    assert usual_workloads(npx.design("ixp2400_dram")) == [None]
    capture = npx.workload(packet_bytes=100)
    assert usual_workloads(npx.design("smartnic"), capture)[-1] is capture
