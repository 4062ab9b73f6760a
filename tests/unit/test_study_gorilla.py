"""Gorilla's published rows, the claims and what they admit, and the drawings."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from npexplore.designs import design
from npexplore.designs.gorilla.steps import engine_program
from npexplore.designs.gorilla.traffic import lowered, router_tables
from npexplore.errors import InputError
from npexplore.ledger import load
from npexplore.plot import gorilla as drawings
from npexplore.study.checking.check import ROLES
from npexplore.study.checking.quantities import QUANTITIES, quantity_of
from npexplore.study.checking.quantities.base import MissingError
from npexplore.study.papers.gorilla import beyond, claims, performance

NP = design("gorilla").with_(boot_us=10, window_us=20)
ROWS = [row for row in load().select(roles=ROLES) if row.design == "gorilla"]


def test_every_row_has_a_rule_and_what_is_not_predicted_a_reason():
    reasons = NP.parameters.file.reason
    for row in ROWS:
        quantity = quantity_of(row)
        assert quantity is not None, row.key
        if quantity.solver == "exact":
            try:
                quantity.value(row, lambda point: None)
            except MissingError:
                assert row.key in reasons


@pytest.mark.parametrize("row", [r for r in ROWS if "channels" in r.key and r.role == "check"], ids=lambda r: r.key)
def test_channels_are_the_published_ones(row):
    assert quantity_of(row).value(row, None) == row.point


def test_area_within_four_per_cent_rms():
    rows = [row for row in ROWS if row.where == "Fig. 12" and row.role == "check"]
    errors = [row.relative_error(row.from_si(quantity_of(row).value(row, None))) for row in rows]
    assert len(errors) == 7
    assert np.sqrt(np.mean(np.square(errors))) < 0.04


def test_claims_are_the_ledgers():
    found = claims.claims()
    assert len({claim.key for claim in found}) == len(found) == 22
    assert sum(claim.keeps_up for claim in found) == 12
    assert {load()[claim.key].role for claim in found} == {"check"}
    assert {claim.name for claim in found if claim.engines == 3} == {"16-3-2 ipv4"}


def test_overhead_follows_from_the_one_rate():
    p = design("gorilla").parameters
    assert claims.overhead_for(p, 2.0) == pytest.approx(p.overhead_cycles, abs=1e-3)
    assert claims.overhead_for(p, 3.0) == pytest.approx(p.overhead_cycles - 16, abs=1e-3)


def test_what_the_model_takes_is_among_the_best():
    p = design("gorilla").parameters
    table = claims.admissible((1.0, 2.0, 3.0), (6.0, p.lookup_cycles, 20.0))
    chosen = table[(table["cycles_per_step"] == 2) & (table["lookup_cycles"] == p.lookup_cycles)].iloc[0]
    assert chosen["right"] == table["right"].max() == 21
    assert chosen["wrong"] == "16-6-2 mpls_4"  # bounds do not know that two threads alternate
    assert claims.keeps_up(p, claims.claims()[0])


def test_two_claims_load_an_engine_alike_and_only_shorter_headers_tell_them_apart():
    """8-4-4 at 100 Mpps is 16-4-4 at 200: one program cannot lose in one and keep up in the other."""
    pair = [claim for claim in claims.claims() if claim.name in ("16-4-4 ipv4", "8-4-4 ipv4")]
    steps, delays = np.arange(0.5, 3.0, 0.5), range(2, 30, 9)
    alike = claims.admissible(steps, delays, [replace(claim, protocols="all") for claim in pair])
    assert (alike["right"] == 1).all()
    built = claims.admissible(steps, delays, pair)
    assert set(built.loc[built["right"] == 2, "cycles_per_step"]) == {2.0}


def test_configurations_are_a_table():
    table = performance.configurations(NP, 4, "v6hx380t", traffic=("ipv4",), sizes=((2, 1), (2, 4)), rate_mpps=50.0)
    assert len(table) == 4
    assert (table["mpps"] <= 1.06 * table["bound_mpps"]).all()
    context = table["mpps"] / (4 * table["engines"] * table["threads"])
    assert np.allclose(table["mpps_per_context"], context)
    picture = drawings.rates(table, title="t", source=50, names={})
    assert picture.layout.yaxis.type == "category"
    assert list(picture.data[0].y) == ["4-2-1", "4-2-4"]


def test_the_budget_is_drawn_as_it_is():
    table = beyond.budget(NP.parameters, 200e6)
    picture = drawings.budget(table, 4, title="t", names={"ipv4": "IPv4"})
    assert [bar.name for bar in picture.data] == list(beyond.CHOICES)
    assert list(picture.data[0].y) == pytest.approx([6, 10])
    assert list(picture.data[0].x) == ["IPv4", "ipv6"]
    assert picture.layout.shapes[0].y0 == 4


def test_threads_and_delay():
    table = performance.threads_and_delay(NP, (1, 4), (32,), ("ready_on_stall",), boot_us=10, window_us=40)
    assert list(table["mpps"]) == pytest.approx(list(table["bound_mpps"]), rel=0.1)
    assert performance.fewest_threads(table)["threads"].tolist() == [4]


def test_fixed_priorities_among_clusters_starve_the_last_ones():
    kinds = {name: {"global_arbiter": name} for name in ("fair", "unfair")}
    table = performance.fairness(NP, kinds, flow_counting="on", window_us=30).set_index("choice")
    assert table.loc["fair", "even"] > 0.97 > 0.9 > table.loc["unfair", "even"]
    assert table.loc["unfair", "slowest_ns"] > 3 * table.loc["unfair", "quickest_ns"]
    assert table.loc["unfair", "mpps"] < 0.9 * table.loc["fair", "mpps"]
    for knobs in ({"balancing": "random"}, {"clusters": 7}):
        with pytest.raises(InputError, match="clusters are told apart"):
            performance.fairness(NP, kinds, **knobs)


def test_updates_of_tables_are_seen_at_the_write_ports():
    short = NP.with_(boot_us=10, window_us=20, controls=0.05)
    table = performance.compared(short, {"few": {"update_routes": 1}, "many": {"update_routes": 16}})
    words = [lowered(short.with_(update_routes=n).parameters).columns["update_words"].mean() for n in (1, 16)]
    assert table["writes_busy"].tolist() == pytest.approx([200e6 * each / 1200e6 for each in words], rel=0.1)


def test_drawings_say_what_they_show():
    compiled = engine_program(router_tables())
    pieces = {name: len(parts) for name, parts in compiled.pieces.items()}
    calls = {name: [c.accelerator for s in parts for c in s.calls] for name, parts in compiled.pieces.items()}
    nothing = pd.DataFrame()
    picture = drawings.program(calls, pieces, nothing).svg()
    assert all(f">{name}" in picture for name in pieces)
    assert "ipv6_extract (3 steps)" in picture
    machine = drawings.architecture(NP.parameters, {"engine": 0.5}, nothing).svg()
    assert all(text in machine for text in ("cluster 16", "6 engines", "4 threads", "4 channels", "unfair local"))
    assert "3 reads a cycle" in drawings.lookup((20, 4, 8), NP.parameters, nothing).svg()
    stages = [("a", ["b"]), ("c", []), ("d", [])]
    whole, part = (drawings.flow(stages, "label", nothing, back="back again", back_from=k).svg() for k in (-1, 1))
    assert "back again" in whole
    assert "478,125" in whole  # from the middle of the third stage
    assert "288,125" in part


def test_the_quantities_are_listed():
    assert "gorilla" in QUANTITIES


def test_an_arrow_leads_to_each_stage_but_the_first():
    assert drawings.flow([("a", ["x"]), ("b", []), ("c", [])], "stages", pd.DataFrame()).svg().count("<polyline") == 2
