"""Models whose arrays break what the engine takes on trust are refused when they are built."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npexplore._kernels import engine as e
from npexplore.designs import design, design_names
from npexplore.engine import rows_check
from npexplore.engine.model import EngineModel, Token, build
from npexplore.engine.rows_check import check_rows
from npexplore.errors import ModelError
from npexplore.machine.workload_sources import workload
from npexplore.rows.server import Server

FAST = np.array([[1 << 20], [1 << 19]])


def row(op, **values):
    made = dict.fromkeys(("A", "RA", "B", "RB", "C", "RC", "TARGET", "X", "Y", "Z"), 0) | {"SLOT": -1} | values
    out = [0] * e.ROW
    out[e.OP] = op
    for name, value in made.items():
        out[getattr(e, name)] = value
    return out


def model(*rows, tables=(FAST,), tokens=3, units=2):
    """Resource 0 is fifo, 1 and 2 are shared."""
    servers = {"plain": (Server("plain"), 0), "cpu": (Server("cpu", members=2, units=units, discipline="shared"), 1)}
    return EngineModel(
        rows=np.array([*rows, row(e.END)]), sources=[None] * (len(rows) + 1), servers=servers, n_resources=3, tick=1.0,
        tokens=[Token(0)] * tokens, tables=list(tables), rings=[], globals=[], counters=[], spare_tokens=0,
        visits=["here"] * (len(rows) + 1),
    )  # fmt: skip


GOOD = [
    [row(e.SHARE, A=1, B=5), row(e.SHARE, A=2, B=5, Z=1)],
    [row(e.SHARE, A=1, B=5, Z=-1), row(e.SHARE, A=1, B=7, Z=-1)],
    [row(e.SERVE, A=0, B=5), row(e.TAKE, A=0, B=1, SLOT=7), row(e.GIVE, SLOT=7)],
    [row(e.ALL, X=1), row(e.TAKE, A=0, B=1, SLOT=0)],
    [row(e.GRAB, B=9, X=2, SLOT=23), row(e.TAKE, A=0), row(e.TAKE, RA=3)],
    [row(e.SERVE, A=1, RA=3)],  # which one is known while it runs only
    [row(e.JUMP, TARGET=1), row(e.SET, SLOT=23)],
]


@pytest.mark.parametrize("rows", GOOD)
def test_good_rows_pass(rows):
    check_rows(model(*rows))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([row(e.SERVE, A=1)], "here (row 0, SERVE): 'cpu' is shared and served by SHARE alone"),
        ([row(e.TAKE, A=2, B=1)], "(row 0, TAKE): 'cpu' is shared"),
        ([row(e.TRY, A=2, B=1)], "(row 0, TRY): 'cpu' is shared"),
        ([row(e.PUT, A=1, B=1)], "(row 0, PUT): 'cpu' is shared"),
        ([row(e.ALL, X=2), row(e.TAKE, A=0), row(e.TAKE, A=1)], "(row 2, TAKE): 'cpu' is shared"),
        ([row(e.GRAB, X=2), row(e.TAKE, A=0), row(e.TAKE, A=1)], "(row 2, TAKE): 'cpu' is shared"),
        ([row(e.SHARE, A=0)], "(row 0, SHARE): resource 0 must be shared by its discipline"),
        ([row(e.SHARE, A=1), row(e.SHARE, A=1, Z=1)], "'cpu' must name the same speeds, got 1 after 0"),
        ([row(e.SHARE, A=1, Z=1), row(e.SHARE, A=1, Z=-1)], "must name the same speeds, got -1 after 1"),
        ([row(e.SHARE, A=1, Z=2)], "speeds must be one of 1 tables, got table 1"),
        ([row(e.SHARE, A=1, Z=-2)], "speeds must be one of 1 tables, got table 1"),
        ([row(22)], "(row 0, operation 22): operations must be 0..21, got 22"),
        ([row(e.WAIT, X=10)], "(row 0, WAIT): the kind must be 0..8, got 10"),
        ([row(e.SET, X=-1)], f"(row 0, SET): the kind must be 0..{e.TO_NEXT}, got -1"),
        ([row(e.PICK, X=4)], "(row 0, PICK): the kind must be 0..3, got 4"),
        ([row(e.JUMP, TARGET=2)], "(row 0, JUMP): the target must be a row 0..1, got 2"),
        ([row(e.FORK, TARGET=-1)], "(row 0, FORK): the target must be a row 0..1, got -1"),
        ([row(e.WAIT, RB=24)], "(row 0, WAIT): registers must be 0..23, got 24"),
        ([row(e.SET, SLOT=24)], "(row 0, SET): the destination must be a register below 24, got 24"),
        ([row(e.TAKE, SLOT=8)], "(row 0, TAKE): the slot must be -1..7, got 8"),
        ([row(e.GIVE)], "(row 0, GIVE): the slot must be 0..7, got -1"),
        ([row(e.ALL, X=3), row(e.TAKE)], "(row 0, ALL): the members must be 1..2 rows, got 3"),
        ([row(e.ALL, X=0)], "(row 0, ALL): the members must be 1..1 rows, got 0"),
        ([row(e.GRAB, X=3), row(e.TAKE)], "(row 0, GRAB): the members must be 1..2 rows, got 3"),
        ([row(e.GRAB, X=1, SLOT=24), row(e.TAKE)], "(row 0, GRAB): the destination must be a register below 24"),
        ([row(e.ALL, X=1), row(e.TAKE, RA=-1)], "(row 1, TAKE): registers must be 0..23, got -1"),
        ([row(e.ALL, X=1), row(e.TAKE, SLOT=9)], "(row 1, TAKE): the slot must be -1..7, got 9"),
    ],
)  # fmt: skip
def test_each_rule(rows, message):
    with pytest.raises(ModelError) as caught:
        check_rows(model(*rows))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("z", "speeds", "tokens", "level"),
    [(1, [4, 0], 3, 3), (1, [4, 2], 3, 3), (1, [4, 1, 9], 9, 2), (-1, [1, 0], 1, 2), (-1, [0], 5, 5)],
)
def test_speeds_of_zero(z, speeds, tokens, level):
    wrong = model(row(e.SHARE, A=1, Z=z), tables=[np.array(speeds)[:, None]], tokens=tokens)
    with pytest.raises(ModelError, match=f"here .row 0, SHARE.: the speed with {level} tokens must be at least"):
        check_rows(wrong)


def test_one_at_a_time_needs_less_speed_than_sharing():
    table = [np.array([[2]])]
    check_rows(model(row(e.SHARE, A=1, Z=-1), tables=table))
    with pytest.raises(ModelError, match="the speed with 3 tokens"):
        check_rows(model(row(e.SHARE, A=1, Z=1), tables=table))


def test_an_empty_table_of_speeds():
    with pytest.raises(ModelError, match="table 0 of speeds must have rows and a column"):
        check_rows(model(row(e.SHARE, A=1, Z=1), tables=[np.zeros((0, 1), np.int64)]))


@pytest.mark.parametrize("name", design_names())
def test_every_design_passes(name):
    made = design(name)
    built = build(made.machine(), made.workload(None if made.own else workload(packet_bytes=64)))
    assert check_rows(built) is built
    with pytest.raises(ModelError):
        check_rows(replace(built, rows=np.where(np.arange(e.ROW) == e.OP, 99, built.rows)))


ROWS = st.builds(
    row, st.integers(-1, 22), A=st.integers(0, 3), RA=st.integers(-1, 24), RB=st.integers(0, 24), RC=st.integers(0, 1),
    TARGET=st.integers(-1, 3), SLOT=st.integers(-2, 24), X=st.integers(-1, 9), Z=st.integers(-2, 2),
)  # fmt: skip


@given(rows=st.lists(ROWS, min_size=1, max_size=4))
def test_no_wrong_row_is_passed_over(rows):
    """What is looked at one by one holds every row that breaks a rule."""
    made = model(*rows)
    shared = rows_check._shared(made)
    doubtful = rows_check._doubtful(made, bool(shared))
    for number, one in enumerate(made.rows.tolist()):
        if rows_check._wrong_constant(made, one) or rows_check._wrong_share(made, one, shared):
            assert doubtful[number]
    sound = model(row(e.WAIT, B=3), row(e.JUMP, TARGET=0))
    assert not rows_check._doubtful(sound, True).any()
