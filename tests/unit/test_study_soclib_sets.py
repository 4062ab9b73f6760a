"""Recorded parameter sets of the SoCLIB unit: they meet the rows that they name, and only those were read."""

import pytest

from npexplore.designs import design
from npexplore.designs.soclib.design import words_read
from npexplore.designs.soclib.unit import packet_words
from npexplore.errors import UnknownNameError
from npexplore.ledger import facts, load
from npexplore.paths import share
from npexplore.study.checking import sets as recorded
from npexplore.study.papers.soclib import sets

RECORDED = sets.load_sets()
PRINTED = {name: int(facts()[row].point) for name, row in sets.ROWS.items()}


def test_sets_of_both_kinds_are_recorded():
    assert {sets.is_blind(one) for one in RECORDED} == {True, False}
    assert len(RECORDED) >= 8


def test_only_calibration_rows_were_fitted_to():
    roles = {row.key: row.role for row in load()}
    assert {roles[row] for one in RECORDED for row in one.fitted_to} == {"calibration"}
    assert {roles[row] for row in [sets.WORDS, *sets.ROWS.values()]} == {"calibration"}


def test_the_file_is_what_would_be_written():
    assert sets.written(RECORDED) == share("models", "sets", "soclib.toml").read_text()


@pytest.mark.parametrize("k", range(len(RECORDED)))
def test_each_set_delivers_the_words_of_one_processor(k):
    one = design("soclib").with_(**RECORDED[k].set)
    assert words_read(one.parameters, one.bounds()) == pytest.approx(689, rel=1e-3)
    spread = words_read(one.parameters, one.simulate())
    assert spread == pytest.approx(689, abs=2 * packet_words(one.parameters))


@pytest.mark.slow
@pytest.mark.parametrize("k", range(len(RECORDED)))
def test_each_set_meets_the_peaks_that_it_was_fitted_to(k):
    at = design("soclib").with_(**RECORDED[k].set)
    for name, row in sets.ROWS.items():
        if row in RECORDED[k].fitted_to:
            assert abs(sets.peak(at, name, PRINTED[name], (1,)) - PRINTED[name]) <= sets.SLACK


def test_too_much_assumed_leaves_no_work():
    at = design("soclib").with_(memory_accesses=20_000)
    assert sets.with_words(at, facts()) is None
    assert sets.with_words(design("soclib"), facts()).parameters.compute_cycles == pytest.approx(23231, abs=60)


@pytest.mark.slow
def test_halving_finds_the_peak_of_spin_locks():
    at = design("soclib")
    rates = {n: sets.throughput(at, "distributed, spin", n, (1,)) for n in range(40, 52)}
    best, rate = sets.last_growing(at, "distributed, spin")
    assert abs(best - max(rates, key=rates.get)) <= 2  # of a top as flat as a percent
    assert rate == pytest.approx(max(rates.values()), rel=0.01)


def test_a_peak_beyond_the_last_count_is_told_by_it():
    best, rate = sets.last_growing(design("soclib"), "distributed, spin", least=8, most=16)
    assert best == 16
    assert rate == pytest.approx(16 / 8 * sets.throughput(design("soclib"), "distributed, spin", 8, (1,)), rel=0.05)


def test_predictions_are_one_row_a_set():
    table = sets.predictions(RECORDED[:1])
    assert list(table["set"]) == [1]
    assert table["mutex_at_27"].between(0.2, 0.31).all()
    assert (table["faster_than_one"] < 1).all()
    assert abs(table["mutex_peak"][0] - 27) <= 1
    assert abs(table["one_bank_peak"][0] - 8) <= 1


def test_free_sets_know_nothing_but_the_words():
    found = sets.free(5, 3)
    assert all(sets.is_free(one) and sets.is_blind(one) for one in found)
    assert not any(sets.is_free(one) for one in RECORDED)
    one = design("soclib").with_(**found[0].set)
    assert words_read(one.parameters, one.bounds()) == pytest.approx(689, rel=1e-3)


@pytest.mark.slow
def test_ranges_over_what_is_not_printed_hold_what_is():
    """Peaks and knee of draws that know no peak; the knee of all sets that do."""
    table = sets.predictions(sets.free(8, 3))
    for name, printed in {"knee": 6, "one_bank_peak": 8, "mutex_peak": 27, "spin_peak": 45}.items():
        assert table[name].min() <= printed <= table[name].max()
    fitted = sets.predictions([one for one in RECORDED if not sets.is_blind(one)])
    assert fitted["knee"].between(5, 7).all()


def test_sets_name_parameters_that_are_there(monkeypatch, tmp_path):
    (tmp_path / "models" / "sets").mkdir(parents=True)
    text = 'design = "soclib"\nabout = "x"\n[[set]]\nfitted_to = []\nset = { waiter_cycle = 3 }\n'
    (tmp_path / "models" / "sets" / "soclib.toml").write_text(text)
    monkeypatch.setattr(recorded, "share", lambda *parts: tmp_path.joinpath(*parts))
    with pytest.raises(UnknownNameError, match="waiter_cycle"):
        sets.load_sets()


@pytest.mark.slow
def test_the_search_finds_the_recorded_sets_again():
    found = sets.search(2, 8, blind=True)
    assert found == [one for one in RECORDED if sets.is_blind(one)][: len(found)]
    assert found
