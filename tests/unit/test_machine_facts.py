"""Machine files, parts and mixes: every number with its source, rows as the ledger prints them, fits recomputed."""

import os
import re
import tomllib

import msgspec
import numpy as np
import pytest

from npexplore.designs import design
from npexplore.errors import InputError, ModelError, UnknownNameError
from npexplore.ledger import facts, load
from npexplore.ledger.rules import rules
from npexplore.ledger.ties import keys_of
from npexplore.machine.machine_files import load_machine
from npexplore.machine.mixes import Component, MixFile, Target, load_mix, mix_names, solve_mix
from npexplore.machine.parameters import Parameters
from npexplore.machine.resources.dram_timing import dram_parts
from npexplore.paths import share
from npexplore.study.papers.ixp2400.lengths import fitted_mean
from npexplore.toml import decode
from npexplore.units import UNITS, factor

MACHINES = sorted(path.stem for path in share("models", "machines").glob("*.toml"))
LEDGER = load()
IXP = load_machine("ixp2400").parameter


def value(name):
    return IXP[name].value


def fact(key):
    """A readable row in SI units (cells, bytes and bits as printed)."""
    return facts().value(f"ixp2400.{key}")


def every_parameter():
    return [(m, name, p) for m in MACHINES for name, p in load_machine(m).parameter.items()]


# ---- every file


@pytest.mark.parametrize("name", MACHINES)
def test_machine_file_is_named_as_it_is_called(name):
    assert load_machine(name).name == name


@pytest.mark.parametrize(("name", "parameter"), [(n, p) for _, n, p in every_parameter()], ids=lambda x: str(x)[:40])
def test_every_parameter_has_a_source_and_says_what_it_is(name, parameter):
    assert parameter.source.strip()
    assert parameter.about.strip()
    assert parameter.choices or isinstance(parameter.value, int | float)
    assert (parameter.min is not None or parameter.max is not None) == (not parameter.choices)


@pytest.mark.parametrize(
    ("name", "parameter"), [(n, p) for _, n, p in every_parameter() if p.row], ids=lambda x: str(x)[:40]
)
def test_a_row_is_the_value_the_ledger_prints(name, parameter):
    printed = facts()[parameter.row]
    unit = parameter.unit if parameter.unit in UNITS else "bytes" if printed.unit in ("KB", "MB") else "1"
    same = UNITS[unit][0] == UNITS[printed.unit][0] or printed.unit == "%"
    assert parameter.value * (factor(unit) if same else 1) == pytest.approx(
        printed.point * (factor(printed.unit) if same else 1)
    )
    # what is read from a calibration row is as good as fitted to it
    assert parameter.fitted_to == ([parameter.row] if printed.role == "calibration" else [])


def test_what_was_fitted_was_fitted_to_rows_a_model_may_read():
    fitted = {key for _, _, p in every_parameter() for one in p.fitted_to for key in keys_of(one)}
    assert fitted
    assert all(facts()[key].role == "calibration" for key in fitted)


def test_what_was_chosen_after_names_rows_that_are_there():
    mechanisms = [m for name in MACHINES for m in load_machine(name).mechanism.values()]
    mixes = [load_mix(name).file.target for name in mix_names()]
    rules_ = [one.record for one in rules().values()]
    records = [*(p for _, _, p in every_parameter()), *mechanisms, *filter(None, mixes), *rules_]
    seen = {key for one in records for key in one.chosen_after}
    assert all(key == "prototype" or key in LEDGER for key in seen)


def test_a_fit_or_an_assumption_says_so():
    for _, name, p in every_parameter():
        assert p.kind != "fitted" or p.fitted_to or p.chosen_after, name
        assert p.kind != "fact" or p.fitted_to in ([], [p.row]), name


def test_reasons_are_of_rows_that_are_there():
    for machine in MACHINES:
        assert all(key in LEDGER for key in load_machine(machine).reason)


def test_parts_the_ixp2400_may_have_are_parts_with_a_source():
    parts = dram_parts()
    assert set(IXP["dram_part"].choices) <= set(parts)
    assert all(part.t_ras >= part.t_rcd + part.t_ck for part in parts.values())


# ---- fitted values follow from the calibration rows (utilization law U = X D)


def test_hash_time():
    packets_per_s = fact("fig15.throughput.w128_b4") / (8 * 64)
    assert value("hash_ns") == pytest.approx(fact("fig15.hash.w128_b4") / packets_per_s * 1e9, abs=0.005)


def engine_times():
    """Engine time of one cell (Fig. 15, 64-byte packets) and of a mean packet of AMP (Fig. 13)."""
    engines = fact("config.mes")
    one = fact("fig15.me.w128_b4") * engines * 64 * 8 / fact("fig15.throughput.w128_b4")
    rate = fact("fig13.hash.amp") / (value("hash_ns") * 1e-9)
    many = fact("fig13.me.amp") * engines / rate
    per_cell = (many - one) / (load_mix("amp").file.target.mean_cells - 1)
    return (one - per_cell) * 1e9, per_cell * 1e9


def test_engine_times():
    per_packet, per_cell = engine_times()
    assert value("me_ns_per_packet") == pytest.approx(per_packet, abs=0.02)
    assert value("me_ns_per_cell") == pytest.approx(per_cell, abs=0.02)


def test_bus_overhead_is_the_turn_around_of_the_part():
    """Half of the accesses read, none is preferred: of four pairs one turns to a write, and one back to a read."""
    part = dram_parts()[value("dram_part")]
    turns_ns = part.t_rtw + (part.t_wtr + part.t_cl)
    assert facts().value("ixp2400.fig9.read_share") == 0.5
    assert value("bus_overhead_bytes") == turns_ns * 1e-9 / 4 * value("bus_bits") / 8 * value("bus_clock_mhz") * 1e6


@pytest.mark.parametrize("name", ["amp", "frg", "psc"])
@pytest.mark.slow
def test_mean_cells_of_a_mix(name):
    """The mean with which the hash unit is as busy as printed, found again with other seeds."""
    target = load_mix(name).file.target
    assert target.fitted_to == [f"ixp2400.fig13.hash.{name}"]
    found = fitted_mean(design("ixp2400"), target.fitted_to[0], seeds=(21, 22), packets=20_000)
    assert target.mean_cells == pytest.approx(found, rel=0.003)


def test_a_mean_is_fitted_to_calibration_rows_alone():
    with pytest.raises(InputError, match="has role 'check'"):
        fitted_mean(design("ixp2400"), "ixp2400.fig13.throughput.amp")
    with pytest.raises(InputError, match="only calibration rows may be fitted to"):
        fitted_mean(design("ixp2400"), "ixp2400.config.mes")


# ---- mixes


@pytest.mark.parametrize("name", mix_names())
def test_mix(name):
    mix = load_mix(name)
    assert mix.file.name == name
    assert mix.probability.sum() == pytest.approx(1, abs=1e-12)
    assert np.all(mix.probability >= 0)
    if mix.file.target:
        cell_bytes = mix.file.target.cell_bytes
        assert mix.mean_cells(cell_bytes) == pytest.approx(mix.file.target.mean_cells, rel=1e-12)
    for part in mix.file.component:
        if part.row and not isinstance(part.share, str) and part.share < 1:
            assert mix.probability[:64].sum() == pytest.approx(facts().value(part.row))
    lengths = mix.lengths()
    assert len(lengths) == 8192
    assert lengths.min() == np.flatnonzero(mix.probability)[0]
    rarer = np.cumsum(mix.probability[::-1])[::-1] < 1 / len(lengths)  # lengths that the sample may leave out
    assert np.flatnonzero(~rarer)[-1] <= lengths.max() < len(mix.probability)
    assert -(-lengths // 64).mean() == pytest.approx(mix.mean_cells(64), rel=2e-3)
    assert not mix.workload().ordered


def part(low, high, share, **more):
    return Component(low=low, high=high, share=share, source="test", **more)


def mix_of(*parts, cells=None):
    target = None if cells is None else Target(mean_cells=cells, cell_bytes=64, source="test")
    return MixFile(name="m", title="test", component=list(parts), target=target)


def test_fit_and_rest():
    made = solve_mix(mix_of(part(64, 64, 0.5), part(640, 640, "fit"), part(128, 128, "rest"), cells=2.5))
    # 0.5 + 10 f + 2 (0.5 - f) = 2.5
    assert made.probability[[64, 128, 640]] == pytest.approx([0.5, 0.375, 0.125])


def test_shapes():
    made = solve_mix(mix_of(part(10, 13, 0.5), part(10, 11, 0.5, shape="log")))
    assert made.probability[10:14] == pytest.approx([0.125 + 0.5 * 11 / 21, 0.125 + 0.5 * 10 / 21, 0.125, 0.125])


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (mix_of(part(64, 1 << 40, 1.0)), "longest length must be at most 67,108,864, got 1,099,511,627,777"),
        (mix_of(part(64, 64, 0.5)), "mix 'm': shares must add up to 1 with at most one fit and one rest"),
        (mix_of(part(64, 64, 0.7), part(70, 70, 0.7)), "shares must add up to 1"),
        (mix_of(part(64, 64, -0.2), part(70, 70, "rest")), "mix 'm': a share must be in [0, 1], got -0.2"),
        (mix_of(part(64, 64, float("nan")), part(70, 70, "rest")), "a share must be in [0, 1], got nan"),
        (mix_of(part(64, 64, "rest"), part(70, 70, "rest")), "shares must add up to 1"),
        (mix_of(part(64, 64, "fit")), "shares must add up to 1 with at most one fit and one rest"),
        (mix_of(part(64, 64, "fit"), part(640, 640, "rest")), "mix 'm': a fitted share needs a target"),
        (mix_of(part(64, 63, 1.0)), "a component of a mix needs 1 <= low <= high, got 64..63"),
        (mix_of(part(0, 63, 1.0)), "a component of a mix needs 1 <= low <= high, got 0..63"),
        (mix_of(), "shares must add up to 1"),
        (mix_of(part(64, 64, "fit"), part(640, 640, "rest"), cells=11), "mean of 11 cells needs a share of -0.111"),
        (mix_of(part(64, 64, "fit"), part(640, 640, "rest"), cells=0.5), "which is not in 0..1.000"),
        (mix_of(part(64, 64, "fit"), part(60, 60, "rest"), cells=1), "fit and rest have the same mean cells"),
        (mix_of(msgspec.structs.replace(part(1, 1, 1.0), source=" ")), "mix 'm': component 1..1 has no source"),
        (msgspec.structs.replace(mix_of(part(64, 64, 1.0)), target=Target(mean_cells=1, cell_bytes=64, source="")),
         "mix 'm': the target has no source"),
        (msgspec.structs.replace(mix_of(part(64, 64, 1.0)), target=Target(mean_cells=1, cell_bytes=0, source="x")),
         "mix 'm': cell_bytes must be at least 1, got 0"),
    ],
)  # fmt: skip
def test_impossible_mixes_are_refused(made, message):
    with pytest.raises((InputError, ModelError)) as error:
        solve_mix(made)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_unknown_mix():
    with pytest.raises(UnknownNameError, match=r"mix 'amd' is unknown \(nearest: amp"):
        load_mix("amd")


# ---- what a user may get wrong in a file

GOOD = """
name = "mine"
title = "a machine"
paper = "none"
[parameter.banks]
kind = "knob"
value = 4
min = 1
max = 8
unit = "banks"
about = "banks"
source = "data sheet"
[parameter.policy]
kind = "assumption"
value = "open"
choices = ["open", "closed"]
about = "page policy"
source = "not stated"
[parameter.share]
kind = "fact"
value = 0.5
min = 0.0
about = "a share"
source = "Sec. 1"
"""


def machine_file(folder, text, name="mine.toml"):
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("min = 1\n", "minn = 1\n", "mine.toml: key 'minn' is unknown (nearest: min, kind) in parameter.banks"),
        ("title =", "titel =", "mine.toml: key 'titel' is unknown (nearest: title"),
        ('source = "data sheet"', "", "mine.toml: key `source` is missing in parameter.banks"),
        ('source = "data sheet"', 'source = "  "', "mine.toml: parameter 'banks' has no source"),
        ("value = 4", "value = 9", "mine.toml: knob banks must be in 1..8 banks, got 9"),
        ("value = 4", "value = true", "expected a number or a text in parameter.banks.value, got True"),
        ('value = "open"', 'value = "opened"', "mine.toml: knob policy must be one of open, closed, got 'opened'"),
        ('kind = "knob"', 'kind = "knobb"', "kind 'knobb' is unknown (nearest: knob) in parameter.banks.kind"),
        ("[parameter.banks]", "[parameter.banks", "mine.toml: not valid TOML"),
        ('paper = "none"', 'paper = "none"\nextends = "mine"', "extends must not be circular, got 'mine'"),
        ('paper = "none"', 'paper = "none"\nextends = "ixp240"', "machine 'ixp240' is unknown (nearest: ixp2400"),
        ('source = "Sec. 1"', 'source = "Sec. 1"\n[[alternative]]\nname="x"\nabout="y"\nset={bank=3}',
         "mine.toml: knob of mine 'bank' is unknown (nearest: banks"),
    ],
)  # fmt: skip
def test_a_broken_machine_file_is_one_line_that_names_it(tmp_path, old, new, message):
    assert old in GOOD
    with pytest.raises(InputError) as error:
        load_machine(machine_file(tmp_path, GOOD.replace(old, new, 1)))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_machine_file():
    with pytest.raises(InputError, match=r"nowhere\.toml: No such file"):
        load_machine("nowhere.toml")
    with pytest.raises(UnknownNameError, match=r"machine 'ixp2800' is unknown \(nearest: ixp2400"):
        load_machine("ixp2800")


def test_a_file_in_another_encoding(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_bytes(GOOD.replace("a machine", "Zürich").encode("latin-1"))
    with pytest.raises(InputError, match=r"mine\.toml:\d: must be text in UTF-8, got byte 0xfc"):
        load_machine(path)
    path.write_bytes(GOOD.encode("utf-16"))
    with pytest.raises(InputError, match=r"mine\.toml:1: must be text in UTF-8, got UTF-16"):
        load_machine(path)
    path.write_bytes(GOOD.replace("\n", "\r\n").encode("utf-8-sig"))
    assert load_machine(path)


def test_misspelt_key_in_a_mix_names_file_key_and_nearest():
    text = share("models", "mixes", "amp.toml").read_bytes().replace(b"shape =", b"shap =")
    with pytest.raises(InputError, match=re.escape("amp.toml: key 'shap' is unknown (nearest: shape")):
        decode(text, MixFile, share("models", "mixes", "amp.toml"))


def test_an_edited_file_is_read_again(tmp_path):
    path = machine_file(tmp_path, GOOD)
    assert load_machine(path).parameter["banks"].value == 4
    path.write_text(GOOD.replace("value = 4", "value = 5"))
    os.utime(path, ns=(1, 1))
    assert load_machine(path).parameter["banks"].value == 5


# ---- parameters


@pytest.fixture
def parameters(tmp_path):
    return Parameters(load_machine(machine_file(tmp_path, GOOD)))


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"bank": 4}, "knob of mine 'bank' is unknown (nearest: banks"),
        ({"banks": 0}, "knob banks must be in 1..8 banks, got 0"),
        ({"banks": 9}, "knob banks must be in 1..8 banks, got 9"),
        ({"banks": 2.5}, "knob banks must be a whole number in 1..8 banks, got 2.5"),
        ({"banks": "many"}, "knob banks must be a whole number in 1..8 banks, got 'many'"),
        ({"banks": float("nan")}, "knob banks must be finite, got nan"),
        ({"banks": "inf"}, "knob banks must be finite, got 'inf'"),
        ({"share": -0.1}, "knob share must be at least 0, got -0.1"),
        ({"policy": "opne"}, "knob policy must be one of open, closed, got 'opne'"),
    ],
)
def test_knobs_that_cannot_be_are_refused(parameters, knobs, message):
    with pytest.raises(InputError) as error:
        parameters.with_(**knobs)
    assert message in str(error.value)


def test_values_take_the_type_of_the_file(parameters):
    changed = parameters.with_(banks="8", share="0.25", policy="closed")
    assert (changed.banks, changed.share, changed.policy) == (8, 0.25, "closed")
    assert isinstance(changed.banks, int)
    assert changed.changed() == {"banks": 8, "share": 0.25, "policy": "closed"}
    assert changed.with_(banks=4).changed() == {"share": 0.25, "policy": "closed"}
    assert parameters.changed() == {}
    assert dict(parameters) == {"banks": 4, "share": 0.5, "policy": "open"}
    assert len(parameters) == 3


def test_a_parameter_that_is_not_there(parameters):
    with pytest.raises(UnknownNameError, match=r"parameter of mine 'bnaks' is unknown \(nearest: banks"):
        _ = parameters.bnaks


def test_reading_is_noted(parameters):
    assert parameters.read == set()
    _ = parameters.banks, parameters["policy"]
    assert parameters.read == {"banks", "policy"}


def test_extending_adds_and_overrides(tmp_path):
    text = GOOD.replace('paper = "none"', 'paper = "none"\nextends = "ixp2400"')
    made = load_machine(machine_file(tmp_path, text)).parameter
    assert made["banks"].max == 8
    assert made["threads"] == IXP["threads"]


def test_toml_is_what_the_parts_file_says():
    text = tomllib.loads(share("models", "parts", "ddr_sdram.toml").read_text())
    assert text["ddr_200"]["t_ck"] * 2 == 1e3 / value("bus_clock_mhz") * 4  # 100 MHz, two transfers a clock


def test_whether_there_is_a_parameter_can_be_asked():
    parameters = Parameters(load_machine(share("models", "machines", "pcie.toml")))
    assert "generation" in parameters
    assert "clock_mhz" not in parameters
    assert not parameters.read  # asking whether it is there is not reading it
