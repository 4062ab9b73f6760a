"""Labels follow from traces: lies that are planted change a label or are refused."""

import ast
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from npexplore.designs import DESIGNS
from npexplore.errors import InputError, UnknownNameError
from npexplore.ledger import Ledger, facts, load
from npexplore.ledger.identities import Identity, exponents
from npexplore.ledger.rules import rule
from npexplore.ledger.ties import Ties, keys_of
from npexplore.machine.parameters import Parameters
from npexplore.reads import SAME, SOLVER, Read
from npexplore.study.checking import quantities
from npexplore.study.checking.check import ROLES, check
from npexplore.study.checking.labels import Labels, contended, free, hints
from npexplore.study.checking.quantities import QUANTITIES, Quantity, quantity_of
from npexplore.study.checking.quantities.base import exact
from npexplore.study.checking.sources import check_sources

LEDGER = load()
LABELS = Labels(LEDGER)
SIMULATED = Read("simulation", SOLVER, None, "")
SHARE = "ixp2400.narrow.share.real"
N0, N30, N40, N50 = (f"ixp2400.fig9.bandwidth.n{k}" for k in (0, 30, 40, 50))


def read(name="d/x", kind="assumption", value="x", **more):
    return Read(name, kind, value, "d.toml", **more)


def label(key, *reads, solver=SIMULATED):
    return LABELS(LEDGER[key], {one.text: one for one in (*reads, *([solver] if solver else []))})


# ---- the rules


def test_what_was_fitted_to_it_or_chosen_after_it_or_neither():
    assert label(N30, read(fitted_to=(N30.replace("n30", "n0"),))) == "predicted"
    assert label(N0, read(fitted_to=(N0,))) == "calibrated"
    assert label(N30, read(chosen_after=(N30,))) == "post_hoc"
    assert label(N0, read(fitted_to=(N0,)), read("d/y", chosen_after=(N0,))) == "calibrated"


def test_a_measurement_printed_twice_is_one():
    assert (
        label("ixp2400.fig14.throughput.amp.w64_b4", read(chosen_after=("ixp2400.fig13.throughput.amp",))) == "post_hoc"
    )


def test_a_value_that_the_row_sets_was_not_fitted():
    assert label(N0, read(kind="knob", usual=False, fitted_to=(N0,))) == "predicted"


def test_arithmetic_is_what_inputs_give_without_contention():
    fact = read(kind="fact")
    assert label(N30, fact, solver=None) == "arithmetic"
    assert label(N30, fact, solver=Read("bounds", SOLVER, None, "")) == "arithmetic"
    assert label(N30, fact) == "predicted"
    assert label(SHARE, read(), solver=None) == "predicted"
    assert label(SHARE, read(kind="row: input"), read("d/k", kind="knob"), solver=None) == "arithmetic"
    assert label(SHARE, read(kind="knob", chosen_after=("prototype",)), solver=None) == "predicted"


def test_what_identities_give_from_inputs_is_arithmetic():
    assert label("ixp1200.fig9.underload.rate", read(), solver=None) == "arithmetic"
    assert label("ixp1200.fig9.underload.rate", read()) == "predicted"  # a solver took part


def test_hints_and_free_parameters_are_counted_from_the_trace():
    set_ = read("d/c", usual=False, fitted_to=(N0,))
    reads = [read("d/a", chosen_after=("prototype",)), read("d/b", fitted_to=(N0,)), set_]
    assert (hints(reads), free(reads), contended({"a": SIMULATED})) == (1, ["d/b"], True)
    assert free([read(N0, kind="row: calibration", fitted_to=(N0,))]) == []


def test_why_names_what_was_read_and_the_rows_it_follows_from():
    reads = {"d/x": read(fitted_to=(N0, N50))}
    assert LABELS.because(LEDGER["ixp2400.fig9.loss50"], reads) == (
        "calibrated", f"d/x was fitted to rows from which it follows: {N0}, {N50}"
    )  # fmt: skip
    assert LABELS.because(LEDGER[N0], reads)[1] == "d/x was fitted to it"


# ---- ties


def test_powers_of_products():
    assert exponents("{a} * {b} / 2 / {a} ** 3") == {"a": -2.0, "b": 1.0}
    assert exponents("1 - {a}") is None
    assert exponents("mean({a}, {b})") is None


def identity(formula, **more):
    told = {"reading": "planted", "explanation": None, "remark": None, "within": None, **more}
    return Identity(paper="gorilla", id=formula, formula=formula, **told)


def ties(*formulas, **changes):
    """Ties over four checks of Gorilla's ledger, called a to d; a is 6, b is 3, c is 2, d is 12 unless told."""
    numbers = {"a": 6.0, "b": 3.0, "c": 2.0, "d": 12.0} | {k: v for k, v in changes.items() if isinstance(v, float)}
    pattern = next(row for row in LEDGER if row.key == "gorilla.mpls4.lookups")
    rows = [
        msgspec.structs.replace(
            pattern, key=f"gorilla.{name}", point=x, lo=x - 0.5, hi=x + 0.5, value=str(x),
            kind=changes.get(f"{name}_kind", "number"),
        )
        for name, x in numbers.items()
    ]  # fmt: skip
    return Ties(Ledger(rows), [identity(one) if isinstance(one, str) else one for one in formulas])


def known(found, *names):
    return sorted(key.removeprefix("gorilla.") for key in found.follow(f"gorilla.{name}" for name in names))


def test_products_are_solved_together():
    found = ties("{a} / {b} = {c}", "{d} / {b} = 2 * {c}")
    assert known(found, "b", "c") == ["a", "b", "c", "d"]
    assert known(found, "a") == ["a", "d"]  # d is twice a, whatever b and c are
    assert known(found, "b") == ["b"]
    assert sorted(found.follow(["gorilla.a / gorilla.b"])) == ["gorilla.c"]
    assert keys_of("gorilla.a / gorilla.b") == ["gorilla.a", "gorilla.b"]


def test_other_equations_give_the_last_that_is_missing():
    found = ties("{a} = {b} + {c} + 1")
    assert known(found, "a", "b") == ["a", "b", "c"]
    assert known(found, "a") == ["a"]
    rough = ties("{a} = max({b}, {c}) + 3")
    assert known(rough, "b", "c") == ["a", "b", "c"]
    assert known(rough, "a", "b") == ["a", "b"]
    assert known(ties("{d} = ceil({d} / 4) * 4")) == []


def test_contradictions_and_hypotheses_tie_nothing():
    assert known(ties("{a} = {b}"), "b") == ["b"]
    assert known(ties(identity("{a} = 2 * {b}", hypothesis=True)), "b") == ["b"]
    assert known(ties("{a} = 2 * {b}"), "b") == ["a", "b"]


def test_an_order_tells_a_claim_and_no_number():
    assert known(ties("{a} >= {b}", a_kind="bound"), "b") == ["a", "b"]
    assert known(ties("{a} >= {b}"), "b") == ["b"]
    assert known(ties("{a} <= {d}", a_kind="bound"), "d") == ["d"]  # a capacity


def test_a_band_fixes_no_other_number():
    assert known(ties("{a} = 2 * {b}", b_kind="bound"), "b") == ["b"]


# ---- ten lies and more


def test_lie_a_row_that_is_the_sum_of_calibrated_ones():
    assert label("ixp2400.fig9.loss50", read(fitted_to=(N0, N50))) == "calibrated"
    assert label("ixp2400.fig9.loss50", read(fitted_to=(N0,))) == "predicted"


def test_lie_a_claim_on_rows_that_had_been_seen():
    seen = [f"ixp2400.fig13.throughput.{t}" for t in ("amp", "frg", "psc")]
    assert (
        label("ixp2400.claim.real_over_dos", read(chosen_after=(*seen, "ixp2400.fig15.throughput.w64_b4")))
        == "post_hoc"
    )
    assert label("ixp2400.claim.real_over_dos", read(chosen_after=tuple(seen))) == "predicted"


def test_lie_a_twin_of_a_fitted_row():
    fitted = read(fitted_to=("ixp2400.fig15.throughput.w128_b4",))
    assert label("ixp2400.fig15.throughput.w64_b8", fitted) == "calibrated"  # 3460 Mb/s too
    assert label("ixp2400.fig15.throughput.w64_b4", fitted) == "predicted"


def test_lie_a_check_value_typed_as_an_assumption():
    assert label("raw.latency.null.64.cycles", read(value=416.0, unit="cycles")) == "calibrated"
    assert label("raw.latency.null.64.cycles", read(value=417.0, unit="cycles")) == "predicted"
    assert label("raw.latency.null.64.cycles", read(value=416.0, unit="ns")) == "predicted"
    assert label(N30, read(kind="fact", value=9330.0, unit="Mb/s")) == "calibrated"
    assert label("gorilla.mpls4.lookups", read(value=4)) == "predicted"  # small numbers meet by chance


def test_lie_a_parameter_that_names_a_check_row_as_its_source():
    with pytest.raises(InputError, match=r"d.toml: x: row must name input or calibration rows, got '.*n30' \(check"):
        label(N30, read(kind="fact", row=N30))
    labels = Labels(LEDGER)
    with pytest.raises(InputError, match="fitted_to must name calibration rows"):
        labels(LEDGER[N30], {"d/x": read(fitted_to=(N30,))})


def test_lie_a_misspelt_row():
    with pytest.raises(UnknownNameError, match=r"d.toml: x: chosen_after '.*n31' is unknown \(nearest: .*n30"):
        Labels(LEDGER)(LEDGER[N30], {"d/x": read(chosen_after=(N30.replace("n30", "n31"),))})


FIG15 = "ixp2400.fig15"
UNTESTED = {  # rows that must not be scored: key, what was read, whether a solver with contention took part, label
    "a rate of a functional model": ("ixp1200.fig9.overload.rate", read(), None, "arithmetic"),
    "a rate of bounds": ("ixp1200.fig9.lossfree", read(), Read("bounds", SOLVER, None, ""), "arithmetic"),
    "a load, chosen after": (
        "ixp1200.fig9.lossfree", read(chosen_after=("ixp1200.fig9.lossfree",)), None, "arithmetic",
    ),
    "a share of packets by a formula": ("xdp.latency.xdp.loaded.share10", read(), None, "arithmetic"),
    "a busy share by a formula": ("xdp.busy.xdp.m1", read(), None, "arithmetic"),
    "shares of quanta": ("ixp1200.fig7.af_share_ratio", read(), SIMULATED, "arithmetic"),
    "latencies of quanta": (
        "ixp1200.fig8.af_latency_ratio", read(chosen_after=("ixp1200.fig8.af_latency_ratio",)), SIMULATED, "arithmetic",
    ),
    "four flows into one link": ("ixp1200.fig7.af3.drop_onset", read(), SIMULATED, "arithmetic"),
    "where their latencies part": ("ixp1200.fig8.equal_until", read(), SIMULATED, "arithmetic"),
    "no effect between equal machines": ("raw.v4.gain_64", read(kind=SAME), SIMULATED, "arithmetic"),
    "a value set by hand": (N30, read(kind="fitted", chosen_after=(N30,)), SIMULATED, "calibrated"),
    "utilization by throughput": (
        f"{FIG15}.me.w64_b8", read(fitted_to=(f"{FIG15}.me.w128_b4", f"{FIG15}.throughput.w128_b4")), SIMULATED,
        "calibrated",
    ),
    "utilization of a bus twice as wide": (
        f"{FIG15}.bus.w128_b4", read(fitted_to=(f"{FIG15}.bus.w64_b8", f"{FIG15}.throughput.w128_b4")), SIMULATED,
        "calibrated",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNTESTED)
def test_lie_a_row_that_tests_no_model(name):
    key, one, solver, expected = UNTESTED[name]
    assert label(key, one, solver=solver) == expected


def test_what_looks_like_these_lies_and_is_judged():
    assert label("ixp1200.fig9.overload.rate", read()) == "predicted"  # a machine that may be overloaded
    assert label("ixp1200.fig7.ef.plateau", read()) == "predicted"
    assert label("raw.v5.gain_64", read(kind=SAME)) == "predicted"  # no effect where one is printed is a miss
    assert label(N30, read(kind="fitted", fitted_to=(N0,), chosen_after=(N30,))) == "post_hoc"
    assert label(f"{FIG15}.me.w64_b4", UNTESTED["utilization by throughput"][1]) == "predicted"  # its rate was not seen


def test_two_sides_that_are_one_machine_are_noticed():
    entry = check(keys=["raw.v4.gain_64"], seeds=1, packets=300).rows[0]
    assert (entry["label"], entry["simulated"]) == ("arithmetic", 0.0)


def planted(monkeypatch, quantity, key=N30):
    monkeypatch.setitem(QUANTITIES["ixp2400_dram"], key, quantity)
    found = check(["ixp2400_dram"], seeds=2, packets=300)
    return next(row for row in found.rows if row["key"] == key)


def honest():
    return quantity_of(LEDGER[N30])


def test_the_honest_row_is_predicted(monkeypatch):
    assert planted(monkeypatch, honest(), N40)["label"] == "predicted"


def test_lie_a_constant_as_a_simulation(monkeypatch):
    with pytest.raises(InputError, match=f"row {N30}: its value was computed without reading any input"):
        planted(monkeypatch, Quantity(honest().points, lambda row, get: 9.33e9))
    with pytest.raises(InputError, match=f"row {N30}: its value would be shown as simulated, but no solver was asked"):
        planted(monkeypatch, Quantity(honest().points, lambda row, get: 0.93 * facts().value(N0)))


def test_lie_a_check_row_read_in_the_value(monkeypatch):
    with pytest.raises(InputError, match="has role 'check': a model may read only"):
        planted(monkeypatch, exact(lambda row: facts().value(row.key)))


def test_lie_a_sum_of_inputs_as_a_prediction(monkeypatch):
    found = planted(monkeypatch, exact(lambda row: 46.65 * facts().value("ixp2400.dram.channel_clock")))
    assert (found["label"], found["verdict"]) == ("arithmetic", "inside")


def test_lie_a_knob_that_no_condition_names():
    point = honest().points(LEDGER[N30])[0]
    with pytest.raises(InputError, match=rf"row {N30}: window = 7 at its design point stands in none"):
        check_sources(LEDGER[N30], lambda row: [point.with_(window=7)])
    assert check_sources(LEDGER[N30], lambda row: [point.with_(threads=8)] if rule("ixp2400.rises_to").value else [])
    assert check_sources(LEDGER[N30], lambda row: [point.with_(banks=8)] if facts()["ixp2400.experiment.banks"] else [])


def test_every_point_of_every_row_has_its_values_from_somewhere():
    for row in LEDGER.select(roles=ROLES):
        quantity = quantity_of(row)
        if quantity is not None:
            check_sources(row, quantity.points)


def with_parameter(monkeypatch, name, **changes):
    made = DESIGNS["ixp2400_dram"]()
    file = made.parameters.file
    unseen = {key: msgspec.structs.replace(one, chosen_after=[]) for key, one in file.parameter.items()}
    one = msgspec.structs.replace(unseen[name], **changes)
    changed = msgspec.structs.replace(file, parameter={**unseen, name: one})
    monkeypatch.setitem(DESIGNS, "ixp2400_dram", lambda: replace(made, parameters=Parameters(changed)))


def test_lie_a_parameter_fitted_to_a_check(monkeypatch):
    with_parameter(monkeypatch, "window", fitted_to=[N30])
    with pytest.raises(InputError, match=r"dram.toml: window: fitted_to must name calibration rows, got '.*n30'"):
        check(["ixp2400_dram"], seeds=2, packets=300)


def test_lie_a_choice_that_forgets_what_was_known(monkeypatch):
    with_parameter(monkeypatch, "window", chosen_after=[N30])
    rows = {row["key"]: row for row in check(["ixp2400_dram"], seeds=2, packets=300).rows}
    assert rows[N30]["label"] == "post_hoc"
    assert rows["ixp2400.fig9.loss30"]["label"] == "predicted"  # the text's number is not the table's


def test_lie_a_number_by_hand_as_an_assumption(monkeypatch):
    with_parameter(monkeypatch, "window", kind="assumption", source="by hand", fitted_to=[], chosen_after=[N30])
    found = check(["ixp2400_dram"], seeds=2, packets=300)
    assert next(row["label"] for row in found.rows if row["key"] == N30) == "calibrated"
    assert "ixp2400_dram/window" in found.free_parameters["ixp2400_dram"]


def test_lie_a_wrong_label_cannot_be_declared():
    assert not {"arithmetic", "reads", "label", "described"} & set(Quantity.__dataclass_fields__)


def literals(text):
    """Numbers in a source that are no units, powers of ten or small counts."""
    allowed = {0, 1, 2, 3, 8, 32, 64, 1e-9, 1e6, 1e9}
    nodes = (node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant))
    return [value for value in nodes if isinstance(value, int | float) and value not in allowed]


@pytest.mark.parametrize("path", sorted(Path(quantities.__file__).parent.glob("*.py")), ids=lambda path: path.name)
def test_lie_a_constant_of_scoring_in_the_code(path):
    assert literals(path.read_text()) == []
    assert literals("PEAK = 0.99") == [0.99]
