"""What was read leaves a trace, through caches too: whoever keeps a value keeps its reads."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest

from npexplore.designs import DESIGNS, design
from npexplore.designs import prepared as kept
from npexplore.errors import InputError, UnknownNameError
from npexplore.ledger import facts
from npexplore.ledger.rules import replaced, rule, rules
from npexplore.machine.machine_files import load_machine
from npexplore.machine.mixes import load_mix
from npexplore.reads import SOLVER, Read, names, note, note_all, reading, remembered
from npexplore.study.sweeping.points import Point, Predictions


def seen_by(run):
    with reading() as seen:
        run()
    return seen


def test_nothing_is_kept_where_nobody_asks():
    note(Read("a", "fact", 1, "f"))
    assert seen_by(lambda: None) == {}


def test_who_reads_around_sees_what_is_read_within():
    with reading() as outer:
        note(Read("a", "fact", 1, "f"))
        with reading() as inner:
            note(Read("b", "fact", 2, "f"))
    assert (set(outer), set(inner)) == ({"a", "b"}, {"b"})


def test_reads_of_a_failure_are_kept():
    def fails():
        note(Read("a", "fact", 1, "f"))
        raise ZeroDivisionError

    with reading() as seen, pytest.raises(ZeroDivisionError):
        fails()
    assert set(seen) == {"a"}


def test_names_leave_out_solvers_and_tell_values_that_were_set():
    reads = [Read("d/x", "knob", 3, "f", usual=False), Read("bounds", SOLVER, None, ""), Read("d/a", "fact", 1, "f")]
    assert names(reads) == ["d/a", "d/x=3"]


@remembered(4)
def double(x):
    note(Read(f"x{x}", "fact", x, "f"))
    return 2 * x


def test_a_cache_notes_its_reads_with_every_hit():
    assert [set(seen_by(lambda: double(3))) for _ in range(2)] == [{"x3"}, {"x3"}]
    assert double(3) == 6


def test_parameters_facts_mixes_and_rules_note_themselves():
    p = design("ixp2400").with_(threads=8).parameters
    seen = seen_by(lambda: (p.threads, p["hash_ns"], facts().value("ixp2400.fig9.bandwidth.n0"), load_mix("amp")))
    assert set(seen) == {"ixp2400/threads=8", "ixp2400/hash_ns", "ixp2400.fig9.bandwidth.n0", "mix amp"}
    assert seen["ixp2400.fig9.bandwidth.n0"].fitted_to == ("ixp2400.fig9.bandwidth.n0",)
    assert seen["ixp2400/hash_ns"].fitted_to == tuple(p.file.parameter["hash_ns"].fitted_to)
    assert not seen["ixp2400/threads=8"].usual
    assert set(seen_by(lambda: rule("ixp2400.peak").value)) == {"rule ixp2400.peak"}


def test_a_changed_design_keeps_no_reads_of_another():
    p = design("ixp2400").parameters
    seen_by(lambda: p.threads)
    assert set(seen_by(lambda: p.with_(threads=4).threads)) == {"ixp2400/threads=4"}


# ---- mechanisms, seen lists


def test_a_mechanism_is_read_where_code_rests_on_it():
    p = design("gorilla").parameters
    (read,) = seen_by(lambda: p.assume("header_check")).values()
    assert (read.name, read.kind) == ("gorilla/header_check", "mechanism")
    assert "gorilla.acc.calls.min" in read.chosen_after
    with pytest.raises(UnknownNameError, match="mechanism of gorilla 'header_chek' is unknown"):
        p.assume("header_chek")


HEAD = 'name = "m"\ntitle = "m"\n'
PARAMETER = '[parameter.x]\nkind = "fact"\nvalue = 1\nmin = 0\nabout = "x"\nsource = "s"\n'


def test_seen_lists_stand_for_their_keys(tmp_path):
    path = tmp_path / "m.toml"
    path.write_text(HEAD + '[seen]\nall = ["raw.a", "raw.b"]\n' + PARAMETER + 'chosen_after = ["prototype", "all"]\n')
    assert load_machine(path).parameter["x"].chosen_after == ["prototype", "raw.a", "raw.b"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[mechanism.x]\nabout = "a"\nsource = "s"\n', "m.toml: mechanism 'x' must not have the name of a parameter"),
        ('[mechanism.y]\nabout = "a"\nsource = " "\n', "m.toml: mechanism 'y' has no source"),
    ],
)
def test_faulty_mechanisms_are_refused(tmp_path, text, message):
    path = tmp_path / "m.toml"
    path.write_text(HEAD + PARAMETER + text)
    with pytest.raises(InputError) as error:
        load_machine(path)
    assert str(error.value) == message


def test_every_mechanism_of_a_file_is_read_by_its_design():
    for name, make in DESIGNS.items():
        file = make().parameters.file
        points = [Point.of(name, None if make().own else "64 bytes", knobs) for knobs in KNOBS.get(name, [{}])]
        seen = set()
        for point in points:
            seen |= set(seen_by(lambda point=point: Predictions(packets=300).at(point, "bounds", 0)))
        missing = {m for m in file.mechanism if f"{file.name}/{m}" not in seen}
        assert missing <= NOT_IN_RUNS.get(name, set()), name


KNOBS = {
    "pcie": [{}, {"op": "write"}, {"op": "write_then_read"}],
    "soclib": [{"processors": 4}, {"processors": 4, "lock": "spin", "memory": "distributed"}],
    "server": [
        {"program": "drop_read"},
        {"steering": "hash"},
        {"stack": "linux", "program": "ipvs"},
        {"program": "route", "table": "full", "striding": "on", "ring": 512, "flows": 10},
    ],
}
# areas; packets of the base file; how a share is read off a run
NOT_IN_RUNS = {"gorilla": {"engine_area"}, "ixp2400_dram": {"padded_cells"}, "ixp1200": {"active_banks"}}


# ---- caches of machines and predictions


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("solver", ["bounds", "simulation"])
def test_a_kept_machine_has_the_reads_of_a_new_one(name, solver, monkeypatch):
    point = Point.of(name, None if design(name).own else "64 bytes", {})
    runs = [seen_by(lambda: Predictions(packets=300).at(point, solver, 1)) for _ in range(2)]
    monkeypatch.setattr(kept, "_machines", type(kept._machines)())
    fresh = Predictions(packets=300)
    runs.append(seen_by(lambda: fresh.at(point, solver, 1)))
    runs.append(seen_by(lambda: fresh.at(point, solver, 1)))  # the prediction itself is kept
    assert runs[0]
    assert all(set(run) == set(runs[0]) for run in runs)


def test_a_kept_machine_whose_reads_are_lost_is_noticed(monkeypatch):
    """The fault that the test above is for."""
    point = Point.of("ixp2400_dram", None, {})
    first = seen_by(lambda: Predictions(packets=300).at(point, "simulation", 1))
    monkeypatch.setattr(kept, "note_all", lambda reads: None)
    assert set(seen_by(lambda: Predictions(packets=300).at(point, "simulation", 1))) != set(first)


def test_points_that_share_programs_have_their_own_reads():
    fast, slow = (Point.of("raw", "64 bytes", {"offered_gbps": x}) for x in (1.0, 2.0))
    made = Predictions(packets=300, seeds=(1,))
    made.fetch([fast, slow])
    seen = [seen_by(lambda point=point: made.at(point, "simulation", 1)) for point in (fast, slow)]
    assert set(seen[0]) ^ set(seen[1]) == {"raw/offered_gbps=1.0", "raw/offered_gbps=2.0"}


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_workers_send_their_reads(executor):
    point = Point.of("ixp2400_dram", None, {"narrow_share": 0.3})
    pool = ThreadPoolExecutor(2) if executor == "threads" else ProcessPoolExecutor(1, get_context("spawn"))
    with pool:
        made = Predictions(packets=300, seeds=(1,))
        made.fetch([point], pool)
    alone = seen_by(lambda: Predictions(packets=300).at(point, "simulation", 1))
    assert seen_by(lambda: made.at(point, "simulation", 1)) == alone


def test_what_is_kept_is_noted_as_it_was():
    seen = seen_by(lambda: facts().value("ixp2400.fig9.bandwidth.n0"))
    assert seen_by(lambda: note_all(seen)) == seen


# ---- rules of scoring


def test_rules_have_sources_and_tell_what_they_might_be():
    assert all(one.record.source.strip() and one.record.about.strip() for one in rules().values())


def test_a_rule_that_is_not_in_the_file_is_refused_with_the_nearest():
    with pytest.raises(UnknownNameError, match=r"scoring.toml.*'ixp2400.peek' is unknown \(nearest: ixp2400.peak"):
        rule("ixp2400.peek")


def test_rules_have_other_values_for_a_while():
    peak = rule("ixp2400.peak")
    with replaced({"ixp2400.peak": 0.5}):
        seen = seen_by(lambda: peak.value)
        assert peak.value == 0.5
    assert peak.value == 0.99
    assert list(seen) == ["rule ixp2400.peak=0.5"]
