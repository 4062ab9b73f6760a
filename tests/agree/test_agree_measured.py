"""Visible groups of the measured machines left out in turn: what all other rows say of them, and what they cannot."""

import numpy as np
import pytest

from npexplore.designs import design
from npexplore.ledger import load
from npexplore.study.checking.left_out import groups_of, left_out

TOLD = {  # groups that other rows tell: the least median error that is a failure (docs/server.md has what was found)
    "pcie": {"latency of a read": 0.03, "128 bytes": 0.03, "1024 bytes": 0.03, "2048 bytes": 0.03},
    "server": {
        "drop.no_touch.r512": 0.04, "drop.read.r512": 0.03, "redirect.r512": 0.01, "tx.r512": 0.06, "drop.mtu": 0.01,
        "route.xdp.single.r512": 0.04,
    },
}  # fmt: skip


@pytest.mark.parametrize(("of", "group"), [
    pytest.param(of, group, marks=[pytest.mark.slow] if of == "pcie" else []) for of in TOLD for group in TOLD[of]
])  # fmt: skip
def test_a_group_is_told_by_the_others(of, group):
    keys = groups_of(of)[group]
    found = left_out(of, group, keys)
    assert set(found.errors) == set(keys)
    assert found.median < TOLD[of][group]


def test_what_nothing_else_tells_is_named():
    """Another program's cycles say nothing of this one; a write and a read have a time that only they show."""
    katran = left_out("server", "lb.katran", groups_of("server")["lb.katran"])
    assert (dict(katran.errors), katran.untold) == ({}, ("cycles_xdp_katran",))
    assert np.isnan(katran.median)
    lone = left_out("pcie", "8 bytes", ["pcie.hsw2620.lat.wrrd.b64"])
    assert lone.untold == ("post_ns",)
    (error,) = lone.errors.values()
    assert error == pytest.approx(-design("pcie").parameters.post_ns / load()[next(iter(lone.errors))].point, abs=0.01)


def test_a_row_is_in_no_group_if_its_host_is_known_by_it():
    held = {key for keys in groups_of("pcie").values() for key in keys}
    assert "pcie.hsw2620.lat.rd.b64" not in held
    assert "pcie.hsw2620.lat.rd.b128" in held
