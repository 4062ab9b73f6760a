"""Work of golden functions: it adds up, columns hold its sums, lookups' reads become accesses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npexplore.errors import InputError, UnknownNameError
from npexplore.golden.lookup import Dir24_8
from npexplore.golden.work import INSTRUCTIONS, Access, Meter, Work, WorkColumns

ACCESSES = st.builds(Access, st.sampled_from(("rules", "vectors", "q_read")), st.integers(1, 16), st.booleans())
WORKS = st.builds(
    lambda accesses, times: Work(tuple(accesses), times),
    st.lists(ACCESSES, max_size=5),
    st.dictionaries(st.sampled_from(INSTRUCTIONS), st.integers(0, 9)),
)


def metered():
    meter = Meter()
    meter.read("rules", 7)
    meter.do(alu=3, branch=2)
    meter.write("state")
    meter.do(alu=1)
    return meter.work


def test_meter_keeps_accesses_in_order_and_sums_instructions():
    work = metered()
    assert work.accesses == (Access("rules", 7), Access("state", 1, write=True))
    assert work.counts() == {
        "rules_reads": 1, "rules_read_words": 7, "state_writes": 1, "state_write_words": 1, "memory": 2,
        "alu": 4, "branch": 2,
    }  # fmt: skip
    assert (work.words(), work.words("rules"), work.words("none")) == (8, 7, 0)


@given(st.lists(st.tuples(WORKS, WORKS), max_size=6))
def test_columns_of_sums_are_sums_of_columns(pairs):
    both = WorkColumns.of([a + b for a, b in pairs])
    assert both == WorkColumns.of([a for a, _ in pairs]) + WorkColumns.of([b for _, b in pairs])


@given(st.lists(WORKS, min_size=1, max_size=6))
def test_columns_hold_each_packets_counts(works):
    columns = WorkColumns.of(works)
    for row, work in enumerate(works):
        assert {name: int(columns[name][row]) for name in columns.columns if columns[name][row]} == work.counts()
    assert set(columns.tables) == {access.table for work in works for access in work.accesses}


def test_columns_that_differ_in_one_count_are_not_equal():
    one, other = WorkColumns.of([metered()]), WorkColumns.of([metered() + Work((), {"alu": 1})])
    assert one != other
    assert one != WorkColumns.of([metered()] * 2)
    assert one + WorkColumns.of([Work((), {"divide": 0})]) == one


@given(st.lists(WORKS, min_size=1, max_size=6))
def test_placing_tables_keeps_every_word(works):
    columns = WorkColumns.of(works)
    placed = columns.placed(dict.fromkeys(columns.tables, "sram"))
    assert set(placed.tables) <= {"sram"}
    for count in ("reads", "read_words", "writes", "write_words"):
        total = sum(int(columns[f"{t}_{count}"].sum()) for t in columns.tables if f"{t}_{count}" in columns.columns)
        assert int(placed._or_zeros(f"sram_{count}").sum()) == total
    assert placed._or_zeros("alu").tolist() == columns._or_zeros("alu").tolist()


def test_reads_of_lookups_become_accesses():
    table = Dir24_8.from_routes([("10.0.0.0/8", 1), ("10.1.2.128/25", 2)])
    addresses = [0x0A0102C8, 0x0A000001]
    single = [Work.of_reads(table.reads(address), words=2) for address in addresses]
    assert single[0].accesses == (Access("tbl24", 2), Access("tbl8", 2))
    assert WorkColumns.of_reads(table.reads_many(addresses), words=2) == WorkColumns.of(single)


def test_counted_columns_issue_one_instruction_for_each_access():
    ones, twos = np.ones(2, np.int64), np.full(2, 2, np.int64)
    columns = WorkColumns.counted(2, {"rules": (twos, 7 * twos)}, {"state": (ones, ones)}, alu=ones)
    work = Work((Access("rules", 7), Access("rules", 7), Access("state", 1, write=True)), {"alu": 1})
    assert columns == WorkColumns.of([work, work])


def test_wrong_work_is_refused():
    with pytest.raises(UnknownNameError, match="instruction class 'branches' is unknown"):
        Work((), {"branches": 1})
    with pytest.raises(InputError, match="words of an access to table 'rules' must be at least 1, got 0"):
        Work((Access("rules", 0),))
    with pytest.raises(InputError, match="alu must be at least 0, got -1"):
        Work((), {"alu": -1})
    with pytest.raises(UnknownNameError, match="work column 'rule_reads' is unknown"):
        WorkColumns.of([metered()])["rule_reads"]
    with pytest.raises(UnknownNameError, match="table 'rule' is unknown"):
        WorkColumns.of([metered()]).placed({"rule": "sram"})
    with pytest.raises(InputError, match="equally many packets, got 1 and 2"):
        WorkColumns.of([metered()]) + WorkColumns.of([metered()] * 2)
    with pytest.raises(InputError, match="work column 'alu' must be int64, one for each of 2 packets"):
        WorkColumns(2, {"alu": np.zeros(3, np.int64)})
