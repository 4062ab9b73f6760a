"""Flow counters: 3 x 72 bits a flow, numbered by both classes; columns count as single packets do, and wrap alike."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npexplore.errors import InputError
from npexplore.golden.flow_counters import COUNTER_BITS, FlowCounters

AMOUNT = st.one_of(st.integers(0, 5), st.sampled_from([2**63 - 1]))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), AMOUNT, AMOUNT), max_size=40))
def test_columns_count_as_single_packets(rows):
    one, many = FlowCounters(2), FlowCounters(2)
    columns = np.array(rows, np.int64).reshape(-1, 4)
    works = [one.count(destination, source, more) for destination, source, *more in rows]
    done = many.count_many(columns[:, 0], columns[:, 1], columns[:, 2:])
    plain = {}
    for destination, source, *more in rows:
        before = plain.get((destination, source), (0, 0, 0))
        plain[destination, source] = tuple((a + b) % 2**72 for a, b in zip(before, (1, *more), strict=True))
    for destination in range(4):
        for source in range(4):
            expected = plain.get((destination, source), (0, 0, 0))
            assert one.read(destination, source) == many.read(destination, source) == expected
    assert [work.counts() for work in works] == [
        {name: int(column[row]) for name, column in done.columns.items()} for row in range(len(rows))
    ]


def test_an_update_reads_and_writes_216_bits():
    counts = FlowCounters().count(1, 2).counts()
    assert counts["flow_counters_reads"] == counts["flow_counters_writes"] == 3
    assert counts["flow_counters_read_words"] * 36 == counts["flow_counters_write_words"] * 36 == 216


def test_counters_wrap_at_72_bits():
    counters = FlowCounters(1)
    for _ in range(512):
        counters.count(0, 1, (2**63 - 1, 0))
    counters.count_many(np.zeros(2, int), np.ones(2, int), np.array([[2**63 - 1, 0], [0, 0]]))
    assert counters.read(0, 1) == (514, 513 * (2**63 - 1) % 2**COUNTER_BITS, 0)
    assert 513 * (2**63 - 1) > 2**72


def test_a_flow_is_both_classes_behind_each_other():
    counters = FlowCounters(9)
    assert len(counters) == 1 << 18
    assert counters.flow(3, 5) == 3 << 9 | 5


@pytest.mark.parametrize("wrong", [(512, 0), (0, 512), (-1, 0)])
def test_classes_out_of_range_are_refused(wrong):
    counters = FlowCounters(9)
    with pytest.raises(InputError, match="class must be 0 to 511"):
        counters.count(*wrong)
    with pytest.raises(InputError, match="class must be 0 to 511"):
        counters.count_many(*(np.array([number, 1]) for number in wrong))


def test_amounts_are_checked():
    with pytest.raises(InputError, match="two amounts"):
        FlowCounters().count(0, 0, (1,))
    with pytest.raises(InputError, match="amounts must be"):
        FlowCounters().count_many(np.zeros(1, int), np.zeros(1, int), np.array([[-1, 0]]))
    with pytest.raises(InputError, match="pairs of amounts"):
        FlowCounters().count_many(np.zeros(1, int), np.zeros(1, int), np.zeros((2, 2), int))
    with pytest.raises(InputError, match="class bits"):
        FlowCounters(0)
