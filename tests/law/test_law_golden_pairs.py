"""Every golden function with a batch form: the batch answers what the reference answers packet by packet."""

from importlib import import_module
from ipaddress import IPv6Address
from pkgutil import walk_packages

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import golden_cases as cases

import npexplore.golden as golden
from npexplore.golden.columns import Packets
from npexplore.golden.ipv6.addresses import address_column, numbers_of

PAIRS = [
    pair
    for module in walk_packages(golden.__path__, "npexplore.golden.")
    for pair in getattr(import_module(module.name), "PAIRS", [])
]


def test_all_pairs_are_found():
    assert len(PAIRS) >= 9
    assert len({pair.reference for pair in PAIRS}) == len(PAIRS)


def as_column(values):
    """Return what a batch form takes for one argument."""
    if isinstance(values[0], bytes):
        return Packets.of(values)
    if isinstance(values[0], IPv6Address):
        return address_column(int(value) for value in values)
    return np.array(values)


def as_rows(answer):
    """Return what a batch form answered, packet by packet, in the types of references."""
    if isinstance(answer, tuple):
        return list(zip(*map(as_rows, answer), strict=True))
    if isinstance(answer, Packets):
        return list(answer)
    return numbers_of(answer) if answer.ndim == 2 else answer.tolist()


def as_number(value):
    """Return what a reference takes for one argument."""
    return int(value) if isinstance(value, IPv6Address) else value


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.reference.__name__)
@settings(max_examples=30)  # of up to 12 packets each
@given(data=st.data())
def test_batch_equals_reference(pair, data):
    drawn = data.draw(st.lists(getattr(cases, pair.strategy)(), min_size=1, max_size=12))
    rows = [row if isinstance(row, tuple) else (row,) for row in drawn]
    context = data.draw(getattr(cases, pair.context)()) if pair.context else ()
    columns = [as_column(values) for values in zip(*rows, strict=True)]
    expected = [pair.reference(*map(as_number, row), *context) for row in rows]
    expected = [tuple(answer) if isinstance(answer, tuple) else answer for answer in expected]
    assert as_rows(pair.batch(*columns, *context)) == expected
