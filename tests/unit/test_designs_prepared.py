"""Machines are made ready once: answers are those of a machine made anew; what differs is another machine."""

from functools import partial

import numpy as np
import pytest

from npexplore.designs import DESIGNS, design
from npexplore.designs import prepared as module
from npexplore.designs.base import Design
from npexplore.designs.prepared import LARGEST, MOST, prepared
from npexplore.machine.workload import Workload, workload
from npexplore.solve.bounds import bounds
from npexplore.solve.model import build
from npexplore.solve.simulate import simulate

SHORT = workload(packet_bytes=64)


def given(name):
    return None if design(name).own is not None else SHORT


@pytest.mark.parametrize("name", DESIGNS)
def test_every_design_is_kept_and_answers_as_if_made_anew(name):
    made, load = design(name), given(name)
    ready = prepared(made, load)
    assert prepared(design(name), load) is ready
    fresh, packets = made.machine(), made.workload(load)
    assert made.bounds(load) == bounds(fresh, packets)
    model, own = build(fresh, packets), ready.model()
    assert own is ready.model()
    assert np.array_equal(own.rows, model.rows)
    assert (own.sources, own.patience_s, own.rings, own.globals) == (
        model.sources, model.patience_s, model.rings, model.globals
    )  # fmt: skip
    assert ready.demanded().ceilings() == own.demanded.ceilings()


def test_seeds_of_one_machine_answer_as_of_three():
    made = design("ixp2400")
    for seed in (1, 2, 1):
        assert made.simulate(SHORT, seed, packets=200) == simulate(made.machine(), SHORT, seed=seed, packets=200)


def test_what_differs_is_another_machine():
    made = design("ixp2400")
    ready = prepared(made, SHORT)
    for other in (
        prepared(made.with_(banks=8), SHORT),
        prepared(made, workload(packet_bytes=65)),
        prepared(made, workload(packet_bytes=64, arrivals="poisson", rate=1e6)),
    ):
        assert other is not ready
    assert prepared(made.with_(banks=made.parameters.banks), workload(packet_bytes=64)) is ready


@pytest.mark.parametrize("wrap", [lambda build: partial(build), lambda build: lambda p: build(p)])
def test_a_machine_of_the_user_s_own_is_made_anew(wrap):
    made = design("ixp2400")
    own = Design("own", made.parameters, wrap(made.build))
    assert prepared(own, SHORT) is not prepared(own, SHORT)


def test_a_changed_file_is_another_design(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\ntitle = "Mine"\nextends = "ixp2400"\n')
    before = prepared(design(path), SHORT)
    path.write_text('name = "mine"\ntitle = "Mine, later"\nextends = "ixp2400"\n')
    assert prepared(design(path), SHORT) is not before


def test_few_are_kept_and_no_long_captures():
    made = design("ixp2400")
    first = prepared(made, SHORT)
    for size in range(100, 100 + MOST):
        prepared(made, workload(packet_bytes=size))
    assert prepared(made, SHORT) is not first
    assert len(module._kept) == MOST
    long = Workload("long", {"packet_bytes": np.full(LARGEST + 1, 64)})
    assert prepared(made, long) is not prepared(made, long)


def test_what_a_machine_hangs_on_is_read_anew():
    made = design("ixp2400")
    made.demands(SHORT)
    assert "banks" in made.depends_on(SHORT)
