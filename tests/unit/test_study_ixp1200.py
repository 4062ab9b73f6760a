"""The IXP1200's quantities: points of rows, shapes, active shares, functional tests, rows that cannot be predicted."""

import csv

import numpy as np
import pytest

from npexplore.designs import design
from npexplore.ledger import load
from npexplore.paths import share
from npexplore.study.checking.check import FIELDS, ROLES, check
from npexplore.study.checking.quantities import ixp1200, quantity_of
from npexplore.study.papers.ixp1200 import diffserv

LEDGER = load()
RULES = np.array(ixp1200.TICKS.value, dtype=float)
HIDDEN = ("check", "context")


def test_points_are_those_that_rows_speak_of():
    def knobs(key):
        return dict(ixp1200.points_of(LEDGER[key])[0].knobs)

    assert knobs("ixp1200.fig9.lossfree") == {"receivers": 1, "receiver_engines": 1, "packet_bytes": 64}
    assert knobs("ixp1200.ipfwd.throughput")["gbe_load"] == 1.0
    assert knobs("ixp1200.table2.text.sram")["receivers"] == 8
    over = ixp1200.over_rules(LEDGER["ixp1200.fig6.rm.shape"])
    assert [dict(point.knobs)["rules"] for point in over] == list(ixp1200.TICKS.value)


@pytest.mark.parametrize(
    ("name", "rates"),
    [("log", 100 - 5 * np.log2(RULES)), ("hyperbola", 1 / (1 + 0.1 * RULES)), ("linear", 600 - RULES)],
)
def test_shapes_are_told_apart(name, rates):
    found = ixp1200.fits(ixp1200.TICKS.value, rates.tolist())
    assert found[name] == pytest.approx(1.0)
    assert max(found, key=found.__getitem__) == name


def test_the_active_share_of_the_sram_leaves_out_what_its_efficiency_wastes():
    row = LEDGER["ixp1200.table1.ls.sram.utilization"]
    answer = design("ixp1200").with_(receivers=8, receiver_engines=2, classifier="ls").simulate()
    efficiency = design("ixp1200").parameters.sram_efficiency
    assert ixp1200.busy(row, answer) == pytest.approx(answer.utilization["sram"].busy * efficiency)


def test_rates_of_the_tables_are_shares_of_a_peak():
    """Both columns of a table follow from one number, as in the paper."""
    knobs = {"receivers": 8, "receiver_engines": 2, "classifier": "ls"}
    answer = design("ixp1200").with_(**knobs).simulate()
    for resource, peak in (("sram", 3.2e9), ("sdram", 6.4e9), ("me0", 200e6)):
        share_row, rate_row = (LEDGER[f"ixp1200.table1.ls.{resource}.{name}"] for name in ("utilization", "rate"))
        values = [quantity_of(row).value(row, lambda point: answer) for row in (share_row, rate_row)]
        assert values[1] == pytest.approx(values[0] * peak)


def test_unlimited_receivers_leave_shares_to_policer_and_quanta():
    found = diffserv.at_load(diffserv.bench(design("ixp1200")), 1.0)
    assert found.loc["EF", "sent_pps"] == pytest.approx(62_500, rel=0.001)
    assert diffserv.neighbours(diffserv.bench(design("ixp1200")), "sent_pps") == pytest.approx(2, rel=0.01)
    assert found["sent_pps"].sum() == pytest.approx(100e6 / (8 * 84), rel=0.001)


def test_modelled_receivers_cannot_fill_the_limit_of_expedited_forwarding():
    made = diffserv.coupled(design("ixp1200"), 4, 4)
    assert made.receiver.service_ns > 1e9 / 62_500
    assert diffserv.at_load(made, 1.0).loc["EF", "sent_pps"] == pytest.approx(1e9 / made.receiver.service_ns, rel=0.02)


@pytest.mark.slow
def test_check_of_every_row_and_no_hidden_value_moves_a_prediction(tmp_path):
    """One seed pair, twice: the second time with all check and context values tripled."""
    table = {row["key"]: row for row in check(["ixp1200"], seeds=2).rows}
    assert set(table) == {row.key for row in LEDGER.select(paper="ixp1200", roles=ROLES)}
    assert all(tuple(row) == FIELDS for row in table.values())
    assert all(row["reason"] != "no explanation found yet" for row in table.values())
    assert all(row["simulated"] is not None for row in table.values() if row["verdict"] == "withheld")
    gone = [key for key, row in table.items() if row["verdict"] == "not_predictable"]
    assert gone == ["ixp1200.diffserv.throughput.summary", "ixp1200.diffserv.rate.summary"]
    assert all("not said" in table[gone[0]]["reason"] for key in gone)

    folder = tmp_path / "published"
    folder.mkdir()
    (folder / "knobs.toml").write_bytes(share("data", "published", "knobs.toml").read_bytes())
    with open(share("data", "published", "ixp1200_diffserv.csv"), newline="") as source:
        rows = list(csv.DictReader(source))
    for row in rows:
        if row["role"] in HIDDEN:
            for column in ("point", "lo", "hi"):
                if row[column] and row["kind"] in ("number", "bound"):
                    row[column] = repr(float(row[column]) * 3 + 1)
            row["value"] = row["point"] if row["kind"] == "number" and row["point"] else row["value"]
            row["note"] = "band of a planted value"
    with open(folder / "ixp1200_diffserv.csv", "w", newline="") as target:
        writer = csv.DictWriter(target, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    moved = {row["key"]: row for row in check(["ixp1200"], seeds=2, ledger=load(folder)).rows}
    for key, row in table.items():
        assert [moved[key][name] for name in ("bounds", "queueing", "simulated", "ci95")] == [
            row[name] for name in ("bounds", "queueing", "simulated", "ci95")
        ]
    assert any(moved[key]["error"] != row["error"] for key, row in table.items())
