"""Rows that are alike, numbered without comparing rows: as np.unique numbers them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from npexplore.alike import alike

NUMBERS = st.one_of(st.integers(0, 3), st.integers(-(2**62), 2**62 - 1))


@given(st.integers(1, 6), st.data())
def test_rows_are_numbered_as_if_they_were_sorted(width, data):
    rows = data.draw(st.lists(st.lists(NUMBERS, min_size=width, max_size=width), max_size=30))
    table = np.array(rows, np.int64).reshape(-1, width)
    found = alike(table.T, len(rows))
    distinct, first, number, count = np.unique(
        table, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    assert found.number.tolist() == number.reshape(-1).tolist()
    assert found.first.tolist() == first.tolist()
    assert found.counts.tolist() == count.tolist()
    assert table[found.first].tolist() == distinct.tolist()
