"""The published numbers as they are in the repository: complete, typed, sourced, and each measurement counted once."""

import csv
import tomllib

import pandas as pd
import pytest

from npexplore import units
from npexplore.ledger import COLUMNS, KINDS, ROLES, load, published
from npexplore.paths import share

# at least so many rows of each: none is lost, and a new one needs no count
ROWS = {"gorilla": 213, "ixp1200_diffserv": 165, "ixp2400_buffering": 166, "raw_router": 132, "soclib_npu": 83}
MEASURED = {"nfp": 471, "pcie_bench": 894, "xdp_server": 345}
WITHHELD = {"ixp1200_diffserv": 9, "raw_router": 7, "soclib_npu": 1, "nfp": 218, "pcie_bench": 680, "xdp_server": 227}
BLIND = {"gorilla": 10, "ixp2400_buffering": 16}


@pytest.mark.parametrize("paper", ROWS | MEASURED)
def test_each_paper_is_there_in_full(paper):
    rows = load().select(paper=paper)
    assert len(rows) >= (ROWS | MEASURED)[paper]
    for role, count in (("withheld", WITHHELD), ("blind", BLIND)):
        assert sum(row.role == role for row in rows) >= count.get(paper, 0)


@pytest.mark.parametrize("paper", ROWS)
def test_files_have_the_columns_in_order(paper):
    with share("data", "published", f"{paper}.csv").open(encoding="utf-8", newline="") as stream:
        assert tuple(next(csv.reader(stream))) == COLUMNS


def test_measured_rows_are_numbers_of_the_machine_they_speak_of():
    row = load()["xdp.drop.no_touch.r512.c2"]
    assert (row.kind, row.design, row.point, row.lo, row.hi) == ("number", "server", 50.23237, 50.23237, 51.9073)
    assert {row.design for row in load().select(paper="pcie_bench")} == {"pcie"}
    assert load()["xdp.busy.xdp.m1"].point is None


def test_columns_are_those_of_the_contract():
    assert " ".join(COLUMNS) == "key where quantity kind value point unit lo hi role conditions same_as note"


def test_every_row_has_a_source_a_known_kind_role_and_unit():
    for row in load():
        assert row.where.strip()
        assert row.kind in KINDS
        assert row.role in ROLES
        assert row.unit in units.UNITS or (row.unit == "" and not row.numeric)


def test_printed_numbers_are_their_points():
    for row in load():
        text = row.value.replace(",", "").replace(" ", "").rstrip("*")
        try:
            number = float(text)
        except ValueError:
            continue
        if row.kind == "number":
            assert row.point == number, row.key


def test_papers_answer_to_both_names():
    ledger = load()
    assert ledger.paper("ixp2400") == ledger.paper("ixp2400_buffering") == "ixp2400_buffering"
    assert ledger.papers == (*sorted(ROWS), *MEASURED)


def test_errors_count_a_measurement_once():
    ledger = load()
    assert ledger.measurement("ixp2400.fig14.throughput.amp.w64_b4") == "ixp2400.fig13.throughput.amp"
    assert ledger.measurement("raw.throughput.headline") == "raw.v4.throughput_1500"
    assert ledger.measurement("gorilla.np.board.linerate") == "gorilla.perf.board.16-3-2"  # over two links
    distinct = ledger.select(distinct=True)
    assert {ledger.measurement(row.key) for row in ledger} == {row.key for row in distinct}
    assert len(distinct) < len(ledger)


def test_conditions_are_knobs_with_numbers_as_numbers():
    row = load()["ixp2400.fig12.bandwidth.amp.base"]
    assert dict(row.conditions) == {"scheme": "base", "mix": "amp", "engines": 4, "threads": 16}
    assert row.design == "ixp2400"
    narrow = load()["ixp2400.fig9.bandwidth.n30"]
    assert narrow.design == "ixp2400_dram"
    assert narrow.conditions["narrow_share"] == 0.3


def test_select_combines_its_filters():
    rows = load().select(paper="raw", roles=["check"], quantity="latency")
    assert [row.key for row in rows] == ["raw.latency.ipv4.64.cycles"]
    assert {row.design for row in load().select(design="ixp2400_dram")} == {"ixp2400_dram"}


def test_table_has_a_row_a_number_and_floats():
    frame = published()
    assert list(frame.columns) == [*COLUMNS, "paper", "frozen"]
    assert len(frame) == len(load())
    assert all(frame[column].dtype == "float64" for column in ("point", "lo", "hi", "frozen"))
    row = frame.set_index("key").loc["ixp2400.fig9.bandwidth.n30"]
    assert (row.point, row.conditions) == (9.33, "design=ixp2400_dram;narrow_share=0.3;banks=4")
    assert pd.isna(row.frozen)
    assert pd.isna(frame.set_index("key").loc["raw.trace.throughput.v4", "point"])


def test_blind_rows_stand_beside_their_frozen_predictions():
    row = load()["ixp2400.fig14.throughput.frg.w128_b4"]
    assert (row.point, row.lo, row.hi) == (8228, 8227.5, 8228.5)
    assert (row.frozen.solver, row.frozen.label, row.frozen.commit) == ("simulated", "predicted", "beb66cb")
    assert row.frozen_value == pytest.approx(8447.2, abs=0.1)
    assert row.relative_error(row.frozen_value) == pytest.approx(0.0266, abs=1e-4)
    frame = published().set_index("key")
    assert frame.loc[row.key, "frozen"] == row.frozen_value
    assert set(frame.index[frame["frozen"].notna()]) == {row.key for row in load().select(roles=["blind"])}


@pytest.mark.parametrize("folder", ["published", "measured"])
def test_every_listed_knob_is_used_by_a_row(folder):
    tables = tomllib.loads(share("data", folder, "knobs.toml").read_text(encoding="utf-8"))
    for prefix, knobs in tables.items():
        rows = [row for row in load() if row.key.startswith(f"{prefix}.")]
        used = {name.removeprefix("baseline_") for row in rows for name in row.conditions}
        assert set(knobs) == used
