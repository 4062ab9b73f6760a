"""A cost of the user's own: worked out by hand at every point, refused where it cannot be, and a recommendation."""

import json

import numpy as np
import pytest

import npexplore as npx
from npexplore.cli import main
from npexplore.errors import FaultsError, InputError, UnknownNameError
from npexplore.study.optimising.costs import costs
from npexplore.study.optimising.optimise import optimise
from npexplore.study.optimising.prices import load_prices, priced

FILE = """
name = "area"
unit = "mm2"
per.base = { value = 20, source = "s" }
per.cores = { value = 1.5, source = "s" }
per.packet_cycles = { value = 0.01, source = "s" }
per.memory_bits = { value = 1e-6, source = "s" }
"""
SPACE = {"cores": [2, 4, 8, 16], "line_gbps": [10.0, 100.0]}


def written(folder, text=FILE):
    path = folder / "area.toml"
    path.write_text(text)
    return path


def by_hand(design):
    p = design.parameters
    return 20 + 1.5 * p.cores + 0.01 * p.packet_cycles + 1e-6 * costs(design)["memory_bits"]


def test_the_cost_of_every_machine_is_what_its_file_says(tmp_path):
    prices, made = load_prices(written(tmp_path)), npx.design("smartnic")
    load = npx.workload(packet_bytes=500)
    best = optimise(made, load, knobs=SPACE, prices=[prices], packets=800)
    assert best.costs == ("area",)
    for one in best.front:
        assert one.costs["area"] == pytest.approx(by_hand(made.with_(**one.knobs)), rel=1e-12)
    both = optimise(made, load, knobs=SPACE, prices=[prices], costs=["threads"], packets=800)
    assert both.costs == ("threads", "area")


def test_what_is_recommended_is_the_cheapest_that_is_fast_enough(tmp_path):
    made, load = npx.design("smartnic"), npx.workload(packet_bytes=64)
    best = optimise(made, load, knobs={"cores": [1, 2, 4, 8, 16]}, prices=[load_prices(written(tmp_path))], packets=800)
    chosen, told = best.recommended()
    fastest = max(one.throughput for one in best.front)
    enough = [one for one in best.front if one.throughput >= 0.95 * fastest]
    assert chosen.costs["area"] == min(one.costs["area"] for one in enough)
    assert told.startswith(f"Take cores = {chosen.knobs['cores']}")
    assert f"{chosen.bottleneck} binds" in told
    assert len(best.front) > 1
    assert "Of the cheaper ones on this front the best loses" in told


def test_the_command_says_it_first_and_gives_unit_and_source(tmp_path, capsys):
    asked = ["optimise", "smartnic", "--packet-bytes", "500", "--set", "cores=4,8", "--prices", str(written(tmp_path))]
    assert main([*asked, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["cost_units"] == {"area": "mm2"}
    assert "1.5 mm2 per cores: s" in document["cost_sources"]["area"]
    assert document["recommendation"]["reason"].startswith("Take cores = ")
    assert main(asked) == 0
    out = capsys.readouterr().out
    assert out.startswith(document["recommendation"]["reason"])
    assert "cost area (mm2)" in out


def test_faults_of_prices_are_told_all_at_once(tmp_path):
    text = FILE.replace('name = "area"', 'name = "banks"').replace(
        'value = 20, source = "s"', 'value = -1, source = ""'
    )
    with pytest.raises(FaultsError) as caught:
        load_prices(written(tmp_path, text))
    said = ("name must not be", "'base' has no source", "'base' must be at least 0")
    assert [words in fault for words, fault in zip(said, caught.value.faults, strict=True)] == [True] * 3


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "area"', 'name = "banks"', "area.toml: name must not be one of memory_bits, banks"),
        ('20, source = "s"', '20, source = " "', "area.toml: price per 'base' has no source"),
        ("value = 20", "value = -1", "area.toml: price per 'base' must be at least 0 and finite, got -1"),
        ("value = 20,", "", "area.toml: key `value` is missing in per.base"),
        ("per.cores", "per.core", "area: cost or knob of smartnic 'core' is unknown (nearest: cores"),
        ("per.cores", "per.buffer", "area: price per 'buffer': this knob is a choice, not a number"),
    ],
)
def test_prices_that_cannot_be_are_one_line(tmp_path, old, new, message):
    assert old in FILE
    path = written(tmp_path, FILE.replace(old, new))
    with pytest.raises((InputError, UnknownNameError)) as caught:
        priced(load_prices(path), npx.design("smartnic"), {"memory_bits": np.ones(1)}, {})
    assert str(caught.value).startswith(message)
    assert load_prices(written(tmp_path, FILE.replace("value = 20", "value = 0"))).per["base"].value == 0
