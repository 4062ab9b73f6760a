"""Every sort of bad ledger row is refused with one line that names file, line, rule, value and nearest names."""

import pytest

from npexplore.errors import InputError, UnknownNameError
from npexplore.ledger import load

HEADER = "key,where,quantity,kind,value,point,unit,lo,hi,role,conditions,same_as,note"
GOOD = "toy.rate,Fig. 1,throughput,number,6.25,6.25,Gb/s,6.245,6.255,check,scheme=base;banks=4,,"
KNOBS = """
[toy]
scheme = { about = "scheme", values = ["base", "better"] }
banks = "number of banks"
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "knobs.toml").write_text(KNOBS)

    def write(*rows, header=HEADER, name="toy_paper.csv"):
        (tmp_path / name).write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
        return tmp_path

    return write


def changed(**cells):
    values = dict(zip(HEADER.split(","), GOOD.split(","), strict=True)) | cells
    return ",".join(values.values())


BAD = {
    "key": (changed(key="toy.Rate"), "column 'key' must be lower-case words joined by dots, got 'toy.Rate'"),
    "prefix": (changed(key="tay.rate"), "column 'key' must start with 'toy.', got 'tay.rate'"),
    "where": (changed(where=""), "column 'where' must not be empty"),
    "quantity": (changed(quantity=""), "column 'quantity' must not be empty"),
    "kind": (changed(kind="nummer"), "column 'kind' 'nummer' is unknown (nearest: number)"),
    "role": (changed(role="chek"), "column 'role' 'chek' is unknown (nearest: check)"),
    "unit": (changed(unit="Gbps"), "column 'unit' 'Gbps' is unknown (nearest: Gb/s"),
    "no unit": (changed(unit=""), "column 'unit' '' is unknown"),
    "value": (changed(value=""), "column 'value' must not be empty unless the row is withheld"),
    "point": (changed(point="six"), "column 'point' must be a finite number, got 'six'"),
    "nan": (changed(lo="nan"), "column 'lo' must be a finite number, got 'nan'"),
    "no point": (changed(point=""), "a number must have point, lo and hi, got (None, 6.245, 6.255)"),
    "no interval": (changed(kind="bound", lo="", hi=""), "a bound must have lo or hi, got neither"),
    "outside": (changed(point="7"), "column 'point' must lie in lo..hi, got 7 outside 6.245..6.255"),
    "outside a band": (
        changed(kind="bound", point="7"),
        "column 'point' must lie in lo..hi, got 7 outside 6.245..6.255",
    ),
    "crossed": (changed(lo="6.3"), "column 'lo' must not exceed 'hi', got 6.3 > 6.255"),
    "widened": (
        changed(lo="6", hi="7"),
        "a number may be as wide as its digits unless 'note' has the word band, got '6.25' 6..7",
    ),
    "widened, without digits after the point": (
        changed(value="6200", point="6200", lo="6100", hi="6250"),
        "a number may be as wide as its digits unless 'note' has the word band",
    ),
    "withheld": (changed(role="withheld"), "a withheld row must leave value, point, lo and hi empty, got '6.25'"),
    "crossed band": (changed(kind="bound", point="", hi="6.2"), "column 'lo' must not exceed 'hi', got 6.245 > 6.2"),
    "blind words": (
        changed(role="blind", kind="shape", value="linear", point="", lo="", hi=""),
        "a blind row must be a number or have an interval, got kind 'shape'",
    ),
    "not frozen": (changed(role="blind"), "a blind row must have a frozen prediction in frozen.csv, got none"),
    "knob": (changed(conditions="shceme=base"), "knob 'shceme' is unknown (nearest: scheme)"),
    "baseline knob": (changed(conditions="baseline_bank=4"), "knob 'baseline_bank' is unknown"),
    "word": (changed(conditions="scheme=bast"), "scheme 'bast' is unknown (nearest: base)"),
    "number": (changed(conditions="banks=many"), "banks must be a finite number, got 'many'"),
    "pair": (changed(conditions="banks"), "distinct knob=value pairs separated by ';', got 'banks'"),
    "twice a knob": (
        changed(conditions="banks=4;banks=8"),
        "distinct knob=value pairs separated by ';', got 'banks=8'",
    ),
    "cells": (GOOD + ",more", "must have 13 cells, got 14"),
    "same_as": (
        changed(same_as="toy.rats"),
        "column 'same_as' of 'toy.rate' 'toy.rats' is unknown (nearest: toy.rate, toy.first)",
    ),
    "itself": (changed(same_as="toy.rate"), "must not lead in a circle"),
}


def test_the_good_row_is_good(folder):
    assert load(folder(GOOD))["toy.rate"].point == 6.25


def test_a_number_is_as_wide_as_its_digits_or_says_that_it_has_a_band(folder):
    round_number = changed(value="6200", point="6200", lo="6150", hi="6250")
    assert load(folder(round_number))["toy.rate"].hi == 6250  # noughts at the end may be rounded
    assert load(folder(changed(lo="6", hi="7", note="band as read off the axis")))["toy.rate"].hi == 7


@pytest.mark.parametrize("sort", BAD)
def test_a_bad_row_is_one_line_with_its_place(folder, sort):
    row, message = BAD[sort]
    with pytest.raises(InputError) as error:
        load(folder(changed(key="toy.first"), row))
    text = str(error.value)
    assert text.startswith("toy_paper.csv:3: ")
    assert message in text
    assert "\n" not in text


def test_a_key_stands_once(folder):
    with pytest.raises(InputError, match=r"^toy_paper.csv:3: column 'key' must be unique, got 'toy.rate' twice"):
        load(folder(GOOD, GOOD))


def test_keys_start_with_a_known_prefix(folder):
    with pytest.raises(UnknownNameError, match=r"^toy_paper.csv:2: key prefix 'tay' is unknown \(nearest: toy\)"):
        load(folder(changed(key="tay.rate")))


def test_a_misspelt_column_is_named(folder):
    with pytest.raises(UnknownNameError, match=r"^toy_paper.csv:1: column 'qantity' is unknown \(nearest: quantity"):
        load(folder(GOOD, header=HEADER.replace("quantity", "qantity")))


def test_a_missing_column_is_named(folder):
    with pytest.raises(InputError, match=r"^toy_paper.csv:1: .*\['note'\]"):
        load(folder(GOOD, header=HEADER.removesuffix(",note")))


@pytest.mark.parametrize(
    ("content", "message"), [(b"", "got an empty file"), (b"\xff\xfe", "must be text in UTF-8, got UTF-16")]
)
def test_an_unreadable_file_is_named(folder, content, message):
    root = folder(GOOD)
    (root / "toy_paper.csv").write_bytes(content)
    with pytest.raises(InputError, match=message):
        load(root)


def test_a_folder_without_files_is_refused(tmp_path):
    with pytest.raises(InputError, match="must hold CSV files, got none"):
        load(tmp_path)


def test_a_folder_without_knobs_is_refused(folder):
    root = folder(GOOD)
    (root / "knobs.toml").unlink()
    with pytest.raises(InputError, match=r"knobs.toml: must be a readable TOML file"):
        load(root)


def test_same_as_must_not_go_in_circles(folder):
    with pytest.raises(InputError, match="circle"):
        load(folder(changed(key="toy.a", same_as="toy.b"), changed(key="toy.b", same_as="toy.a")))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            {"value": "6.3", "point": "6.3", "lo": "6.295", "hi": "6.305"},
            "must print the same measurement, got '6.25' Gb/s against '6.3' Gb/s",
        ),
        ({"unit": "s"}, "must print the same measurement"),
        ({"role": "calibration"}, "must join readable rows to readable, withheld ones to withheld and blind ones to"),
        ({"role": "withheld", "value": "", "point": "", "lo": "", "hi": ""}, "must join readable rows to readable"),
    ],
)
def test_same_as_joins_only_one_measurement_of_one_side(folder, other, message):
    with pytest.raises(InputError, match=message):
        load(folder(changed(same_as="toy.other"), changed(key="toy.other", **other)))


def test_a_bound_that_is_not_reached_stands_beside_its_band(folder):
    assert load(folder(changed(kind="bound", value="<7", point="7")))["toy.rate"].point == 7


BLIND = changed(role="blind")
FROZEN = "key,predicted,unit,solver,label,commit"
FORETOLD = "toy.rate,6.1,Gb/s,simulated,predicted,beb66cb"


@pytest.fixture
def frozen(folder):
    def write(*lines, row=BLIND, header=FROZEN):
        folder(row, changed(key="toy.seen"))
        return folder(*lines, header=header, name="frozen.csv")

    return write


def test_a_blind_row_has_its_frozen_prediction_in_its_own_unit(frozen):
    assert load(frozen(FORETOLD))["toy.rate"].frozen_value == 6.1
    other = load(frozen(FORETOLD.replace("6.1,Gb/s", "6100,Mb/s")))["toy.rate"]
    assert (other.frozen.predicted, other.frozen_value) == (6100, pytest.approx(6.1))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            FORETOLD.replace("toy.rate", "toy.seen"),
            "column 'key' must name a blind row, got 'toy.seen' with role 'check'",
        ),
        (FORETOLD.replace("toy.rate", "toy.rats"), "column 'key' 'toy.rats' is unknown (nearest: toy.rate)"),
        (FORETOLD.replace("Gb/s", "s"), "column 'unit' must measure what Gb/s measures, got 's' (row 'toy.rate')"),
        (FORETOLD.replace("Gb/s", "Gbps"), "column 'unit' 'Gbps' is unknown (nearest: Gb/s"),
        (FORETOLD.replace("6.1", "inf"), "column 'predicted' must be a finite number, got 'inf'"),
        (FORETOLD.replace("simulated", "simulation"), "column 'solver' 'simulation' is unknown (nearest: simulated)"),
        (FORETOLD.replace("predicted", "calibrated"), "column 'label' 'calibrated' is unknown"),
        (FORETOLD.replace("beb66cb", "HEAD"), "column 'commit' must be 7 to 40 hexadecimal digits, got 'HEAD'"),
        (FORETOLD + ",more", "must have 6 cells, got 7"),
    ],
)
def test_a_bad_frozen_prediction_is_one_line_with_its_place(frozen, line, message):
    with pytest.raises(InputError) as error:
        load(frozen(line))
    assert str(error.value).startswith("frozen.csv:2: ")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_prediction_is_frozen_once(frozen):
    with pytest.raises(InputError, match=r"^frozen.csv:3: column 'key' must be unique, got 'toy.rate' twice"):
        load(frozen(FORETOLD, FORETOLD))


def test_frozen_predictions_have_their_columns(frozen):
    with pytest.raises(InputError, match=r"^frozen.csv:1: column 'value' is unknown"):
        load(frozen(FORETOLD, header=FROZEN.replace("predicted", "value")))


def test_a_value_that_is_known_from_elsewhere_is_not_blind(frozen):
    with pytest.raises(InputError, match=r"must join readable rows to readable, withheld .* got 'blind' -> 'check'"):
        load(frozen(FORETOLD, row=changed(role="blind", same_as="toy.seen")))


def test_same_as_converts_units(folder):
    other = changed(key="toy.other", value="6249", point="6249", unit="Mb/s", lo="6248.5", hi="6249.5")
    assert load(folder(changed(same_as="toy.other"), other)).measurement("toy.rate") == "toy.other"
