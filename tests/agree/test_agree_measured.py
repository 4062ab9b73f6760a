"""Visible groups of the measured machines left out in turn: what all other rows say of them, and what they cannot."""

import numpy as np
import pytest

from npexplore.designs import design
from npexplore.designs.pcie import design as device
from npexplore.errors import InputError, UnknownNameError
from npexplore.ledger import load
from npexplore.machine.workload_sources import workload
from npexplore.rows.expressions import ceildiv, minimum
from npexplore.solve.bounds import bounds
from npexplore.study.checking.left_out import leave_group_out, row_groups

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
    keys = row_groups(of)[group]
    found = leave_group_out(of, group, keys)
    assert set(found.errors) == set(keys)
    assert found.median < TOLD[of][group]


def test_what_nothing_else_tells_is_named():
    """Another program's cycles say nothing of this one; a write and a read have a time that only they show."""
    katran = leave_group_out("server", "lb.katran", row_groups("server")["lb.katran"])
    assert (dict(katran.errors), katran.untold) == ({}, ("cycles_xdp_katran",))
    assert np.isnan(katran.median)
    lone = leave_group_out("pcie", "8 bytes", ["pcie.hsw2620.lat.wrrd.b64"])
    assert lone.untold == ("post_ns",)
    (error,) = lone.errors.values()
    assert error == pytest.approx(-design("pcie").parameters.post_ns / load()[next(iter(lone.errors))].point, abs=0.01)


def test_rows_that_the_design_does_not_have_are_refused():
    with pytest.raises(UnknownNameError, match=r"server\.drop\.nothing"):
        leave_group_out("server", "drop", ["server.drop.nothing"])
    with pytest.raises(InputError, match=r"of design server: row pcie\.hsw2620\.lat\.wrrd\.b64 is of design pcie"):
        leave_group_out("server", "8 bytes", ["pcie.hsw2620.lat.wrrd.b64"])


def test_a_row_is_in_no_group_if_its_host_is_known_by_it():
    held = {key for keys in row_groups("pcie").values() for key in keys}
    assert "pcie.hsw2620.lat.rd.b64" not in held
    assert "pcie.hsw2620.lat.rd.b128" in held


def joined(n, longest):
    """Completions of a read: its first line, then pairs of lines; a longer one in whole payloads of 256 bytes."""
    longer = minimum(n // (longest + 1), 1)
    return longer * ceildiv(n, 256) + (1 - longer) * (1 + ceildiv(ceildiv(n, 64) - 1, 2))


VARIANTS = {  # docs/server.md: completions of a read of n bytes, what the device moves, largest request; worst at which
    "as it is": (lambda n: joined(n, 320), ceildiv, 4096, -0.196, "257"),
    "a request of at most 256 bytes": (lambda n: joined(n, 320), ceildiv, 256, -0.196, "257"),
    "whole payloads from 257 bytes on": (lambda n: joined(n, 256), ceildiv, 4096, -0.130, "257"),
    "one completion more": (lambda n: joined(n, 320) + n // 257, ceildiv, 4096, -0.253, "257"),
    "split at 128 bytes": (lambda n: ceildiv(n, 128), ceildiv, 4096, 0.206, "65"),
    "bytes moved": (lambda n: joined(n, 320), lambda n, line: n * (1 / line), 4096, 0.466, "65"),
    "both of these": (lambda n: joined(n, 256), lambda n, line: n * (1 / line), 4096, 0.466, "65"),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_no_way_of_joining_lines_tells_all_reads_up_to_257_bytes(name, monkeypatch):
    pieces, moved, request, worst, size = VARIANTS[name]
    monkeypatch.setattr(device, "completions", lambda p, n: pieces(n))
    monkeypatch.setattr(device, "ceildiv", moved)
    p = design("pcie").parameters.with_(host="bdw2630", request_bdw2630=request)
    errors = {}
    for n in (65, 128, 256, 257):
        rate = bounds(device.build(p), workload(packet_bytes=n)).throughput_bps / 1e9
        errors[str(n)] = rate / load()[f"pcie.bdw2630.s0s0.rd.b{n}"].point - 1
    assert max(errors, key=lambda n: abs(errors[n])) == size
    assert errors[size] == pytest.approx(worst, abs=2e-3)
