"""Calibrate: finds known values again, reads calibration rows alone, keeps fit and evaluation apart."""

import json

import msgspec
import pytest

from npexplore.cli import main
from npexplore.cli.calibrate import _few
from npexplore.errors import InputError, UnknownNameError
from npexplore.ledger import Ledger, load
from npexplore.study.checking.calibrate import calibrate
from npexplore.study.checking.fitted_rows import Judge, score
from npexplore.study.sweeping.grid import Span

ROWS = ["ixp2400.fig15.throughput.w128_b4", "ixp2400.fig15.hash.w128_b4"]
QUICK = {"packets": 400, "evaluation_seeds": (11, 12)}


@pytest.fixture(scope="module")
def found():
    return calibrate({"hash_ns": Span(100, 200)}, ROWS, starts=2, **QUICK)


def test_the_utilization_law_is_found_again(found):
    """The machine file's value follows from these two rows by hand: 512 bits a packet over the printed throughput."""
    assert found.best.values["hash_ns"] == pytest.approx(147.98, rel=0.01)
    assert found.best.score < 0.01
    assert found.evaluation_score < 0.01
    assert all(abs(error) < 0.01 for error in found.best.errors.values())


def test_the_profile_rises_to_both_sides_and_bounds_what_is_admissible(found):
    line = dict(found.profile["hash_ns"])
    assert line[min(line)] > 10 * found.best.score
    assert line[max(line)] > 10 * found.best.score
    assert all(abs(value / 147.98 - 1) < 0.02 for value in found.admissible["hash_ns"])


def test_a_fit_is_repeated_exactly(found):
    again = calibrate({"hash_ns": Span(100, 200)}, ROWS, starts=2, **QUICK)
    assert again.to_dict() == found.to_dict()


def test_rows_come_from_the_machine_file():
    mine = calibrate({"hash_ns": [148.0]}, of="ixp2400", starts=1, profiles=False, **QUICK)
    assert mine.rows == tuple(load()[key].key for key in ROWS)


def test_whole_numbers_and_choices_are_tried_one_by_one():
    keys = ["ixp2400.fig9.bandwidth.n0", "ixp2400.fig9.bandwidth.n50"]
    mine = calibrate(
        {"window": Span(5, 7), "dram_part": ["ddr_200", "ddr_400"]}, keys, starts=3, profiles=True, **QUICK
    )
    assert len({tuple(fit.values.values()) for fit in mine.fits}) == 3 * 2  # each combination
    assert mine.best.values["dram_part"] == "ddr_200"
    assert {value for value, _ in mine.profile["window"]} == {5, 6, 7}
    assert mine.best.cost == min(fit.cost for fit in mine.fits)


def test_a_single_machine_needs_no_simulation_where_bounds_answer():
    mine = calibrate({"hash_ns": Span(100, 200)}, ROWS[:1], starts=1, solver="bounds", **QUICK)
    row = load()[ROWS[0]]
    assert mine.best.values["hash_ns"] == pytest.approx(512 / row.si(row.point) * 1e9, rel=1e-3)


# ---- what it may not read


def test_a_check_row_is_refused():
    checks = [row.key for row in load() if row.role in ("check", "withheld", "blind", "context")]
    for key in checks[:3] + checks[-3:]:
        with pytest.raises(InputError, match="a model may read only input and calibration rows"):
            calibrate({"hash_ns": Span(100, 200)}, [key])


def test_an_input_row_is_no_measurement_to_fit_to():
    key = next(row.key for row in load() if row.role == "input")
    with pytest.raises(InputError, match="has role 'input': only calibration rows may be fitted to"):
        Judge.of([key])


def test_no_fit_moves_when_every_hidden_value_changes(found):
    changed = Ledger(
        msgspec.structs.replace(row, point=row.point * 3, lo=row.point * 3, hi=row.point * 3, value=str(row.point * 3),
                                same_as=None)
        if not row.readable and row.kind == "number" and row.point
        else msgspec.structs.replace(row, same_as=None)
        for row in load()
    )  # fmt: skip
    again = calibrate({"hash_ns": Span(100, 200)}, ROWS, starts=2, known=changed.facts(), **QUICK)
    assert again.to_dict() == found.to_dict()


# ---- what cannot be asked


@pytest.mark.parametrize(
    ("free", "more", "error", "message"),
    [
        ({}, {"keys": ROWS}, InputError, "at least one free parameter"),
        ({"hash": Span(1, 2)}, {"keys": ROWS}, UnknownNameError, "nearest: hash_ns"),
        ({"hash": [1.0]}, {"of": "ixp2400"}, UnknownNameError, "nearest: hash_ns"),
        ({"hash_ns": Span(200, 100)}, {"keys": ROWS}, InputError, "must have 0 < low < high, got 200..100"),
        ({"hash_ns": Span(0.01, 100)}, {"keys": ROWS}, InputError, "hash_ns must be at least 0.1"),
        ({"scheme": Span(1, 2)}, {"keys": ROWS}, InputError, "scheme must be one of base"),
        ({"hash_ns": []}, {"keys": ROWS}, InputError, "needs at least one value"),
        ({"hash_ns": [1.0]}, {}, InputError, "needs rows, or the design"),
        ({"banks": [4]}, {"of": "ixp2400"}, InputError, "no calibration rows are known for banks"),
        ({"hash_ns": [1.0]}, {"keys": ROWS, "solver": "bound"}, UnknownNameError, "nearest: bounds"),
        ({"hash_ns": [1.0]}, {"keys": ROWS, "fit_seeds": (1, 2), "evaluation_seeds": (2, 3)}, InputError,
         "must differ, got 2 for both"),
        ({"hash_ns": [1.0]}, {"keys": ROWS, "starts": 0}, InputError, "at least one start"),
    ],
)  # fmt: skip
def test_what_cannot_be_fitted_is_one_line(free, more, error, message):
    with pytest.raises(error, match=message):
        calibrate(free, **more)


def test_errors_are_relative_and_intervals_are_free():
    judge = Judge.of(ROWS)
    row = load()[ROWS[0]]
    predicted = {key: load()[key].point for key in ROWS}
    assert judge.errors(predicted) == dict.fromkeys(ROWS, 0.0)
    high = judge.outside({**predicted, ROWS[0]: row.hi})
    assert high == dict.fromkeys(ROWS, 0.0)
    above = judge.outside({**predicted, ROWS[0]: row.hi + 0.1 * row.point})
    assert above[ROWS[0]] == pytest.approx(0.1)
    assert score({"a": 3.0, "b": 4.0}) == pytest.approx(12.5**0.5)


def test_the_command(capsys):
    arguments = ["calibrate", "ixp2400", "--free", "hash_ns=140..160", "--packets", "300", "--starts", "1"]
    assert main([*arguments, "--no-profile", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["values"]["hash_ns"] == pytest.approx(147.98, rel=0.02)
    assert document["units"] == {"hash_ns": "ns"}
    assert set(document) == {
        "design", "units", "free", "values", "score", "evaluation_score", "rows", "admissible", "profile", "starts",
        "fit_seeds", "evaluation_seeds",
    }  # fmt: skip
    assert main(["calibrate", "ixp2400", "--free", "hash_ns=140,148", "--packets", "300"]) == 0
    said = capsys.readouterr().out
    assert "score %" in said
    assert said.splitlines()[0].split() == ["parameter", "fitted", "unit", "admissible"]
    key = next(row.key for row in load() if row.role == "check")
    assert main([*arguments, "--row", key]) == 2
    assert "a model may read only input and calibration rows" in capsys.readouterr().err
    assert main(["calibrate", "ixp2400", "--free", "hash_ns"]) == 2
    assert "--free needs knob=LOW..HIGH or knob=V1,V2, got 'hash_ns'" in capsys.readouterr().err
    assert main(["calibrate", "ixp2400", "--free", "hash_ns=a..b"]) == 2
    assert "span of knob hash_ns must be LOW..HIGH or LOW..HIGH:log, got 'a..b'" in capsys.readouterr().err


def test_a_long_profile_is_printed_at_its_ends_its_best_and_between():
    line = [(k, abs(k - 37) / 100) for k in range(201)]
    shown = _few(line)
    assert (shown[0], shown[-1], min(shown, key=lambda pair: pair[1])) == (line[0], line[-1], (37, 0.0))
    assert len(shown) <= 11
    assert shown == sorted(shown)
    assert _few(line[:11]) == line[:11]
