"""Recorded parameter sets: they meet the calibration rows they name, and a check tells what they leave open."""

import pytest
from reference import raw_sets

from npexplore.designs import DESIGNS, design
from npexplore.errors import InputError, UnknownNameError
from npexplore.ledger import facts, load
from npexplore.paths import share
from npexplore.study.checking import sets as recorded
from npexplore.study.checking.check import check
from npexplore.study.checking.fitted_rows import Judge
from npexplore.study.checking.sets import designs_with_sets, load_sets

GAIN = facts()[raw_sets.GAIN]


def test_sets_are_of_listed_designs():
    assert set(designs_with_sets()) == {"ixp2400", "pcie", "raw", "server", "soclib"}
    assert set(designs_with_sets()) <= set(DESIGNS)


@pytest.mark.parametrize("name", designs_with_sets())
def test_sets_were_fitted_to_calibration_rows_alone_and_differ(name):
    found = load_sets(name)
    roles = {row.key: row.role for row in load()}
    assert {roles[key] for one in found for key in one.fitted_to} == {"calibration"}
    assert len({repr((sorted(one.set.items()), one.mix)) for one in found}) == len(found) >= 8


@pytest.mark.parametrize(("name", "k"), [(name, k) for name in ("pcie", "server") for k in range(len(load_sets(name)))])
def test_a_set_of_measured_machines_keeps_its_rows_in_their_intervals(name, k):
    one = load_sets(name)[k]
    judge = Judge.of(one.fitted_to)
    assert set(judge.outside(judge.predict(one.set, solver="bounds")).values()) == {0.0}


def test_the_file_of_raw_is_what_would_be_written():
    assert raw_sets.written(raw_sets.load_sets()) == share("models", "sets", "raw.toml").read_text()


def test_sets_of_raw_vary_all_that_is_left_open():
    found = raw_sets.load_sets()
    for name, choices in raw_sets.RANGES.items():
        assert len({one.set[name] for one in found}) > 1, name
        assert {one.set[name] for one in found} <= set(choices)


@pytest.mark.slow
def test_a_set_of_raw_has_the_printed_gain():
    one = design("raw").with_(**raw_sets.load_sets()[1].set)
    assert GAIN.inside(GAIN.from_si(raw_sets.gain(one)))
    # banks are drawn: one seed is off by 1.3 points, the mean of two by 0.9, and that of the fit by 0.65
    assert GAIN.from_si(raw_sets.gain(one, (21, 22))) == pytest.approx(GAIN.point, abs=3)


def test_no_time_of_a_line_is_found_where_none_gives_the_gain(monkeypatch):
    monkeypatch.setattr(raw_sets, "gain", lambda at, seeds=(1,): 0.1)
    assert raw_sets.fitted({}) is None
    monkeypatch.setattr(raw_sets, "gain", lambda at, seeds=(1,): 0.36 * at.parameters.line_cycles / 20)
    assert raw_sets.fitted({})["line_cycles"] == pytest.approx(20, abs=0.3)


def test_a_search_keeps_its_draws_in_order(monkeypatch):
    monkeypatch.setattr(raw_sets, "fitted", lambda assumed: None if assumed["store"] == "beside" else dict(assumed))
    notes = []
    found = raw_sets.search(6, 5, notes.append)
    assert found == raw_sets.search(6, 5)
    assert notes.count("kept") == len(found) < 6


def test_a_check_over_sets_tells_the_span_of_each_row():
    keys = ["soclib.baseline.words", "soclib.exp2.peak.throughput"]
    found = check(["soclib"], seeds=2, packets=200, keys=keys, sets=True)
    words, rate = found.rows
    assert words["range"] == [pytest.approx(689, rel=0.05)] * 2
    assert rate["range"][0] < rate["range"][1]
    assert len(found.sets["soclib"]) == len(load_sets("soclib"))
    assert all(set(one) == set(keys) for one in found.sets["soclib"])
    assert all(row["range"] is None for row in check(["soclib"], seeds=2, packets=200, keys=keys).rows)


def test_a_set_names_parameters_that_are_there(monkeypatch, tmp_path):
    (tmp_path / "models" / "sets").mkdir(parents=True)
    text = 'design = "raw"\nabout = "x"\n[[set]]\nfitted_to = []\nset = { line_cycle = 3 }\n'
    (tmp_path / "models" / "sets" / "raw.toml").write_text(text)
    monkeypatch.setattr(recorded, "share", lambda *parts: tmp_path.joinpath(*parts))
    with pytest.raises(UnknownNameError, match="line_cycle"):
        load_sets("raw")
    (tmp_path / "models" / "sets" / "raw.toml").write_text(text.replace("set = {", "sett = {"))
    with pytest.raises(InputError, match=r"raw\.toml: key 'sett' is unknown"):
        load_sets("raw")
