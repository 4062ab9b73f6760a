"""Figs. 11 and 14 out of synthesised engines: LUTs are those of the table, one scale leaves ratios alone."""

import pytest

from npexplore.designs import design
from npexplore.hardware.area import engine_luts
from npexplore.study.papers.gorilla import in_hardware, synthesised, synthesised_systems, virtual_routers

NP = in_hardware.with_measured(design("gorilla"))
STORE = "registers"


def test_rates_per_area_by_hand():
    short = NP.with_(boot_us=10, window_us=20)
    found = {one["configuration"]: one for one in synthesised_systems.per_area(short, STORE)}
    one = found["8-2-1"]
    assert one["luts"] == 16 * engine_luts("ipv4", 1, STORE).mean
    assert one["per_area"] == pytest.approx(1000 * one["mpps"] / one["luts"])
    scale = synthesised.scale(NP.parameters, STORE)
    assert all(one["scaled"] == pytest.approx(one["per_area"] / scale) for one in found.values())
    threads = synthesised_systems.gains(list(found.values()), "threads")
    assert threads[2] == pytest.approx(found["8-2-4"]["per_area"] / found["8-2-1"]["per_area"])
    engines = synthesised_systems.gains(list(found.values()), "engines")
    assert list(engines) == [1, 2, 4]
    assert engines[4] == pytest.approx(found["8-6-4"]["per_area"] / found["8-2-4"]["per_area"])


def test_an_engine_takes_its_luts_of_the_device():
    areas = synthesised_systems.engines_of(NP, STORE)
    assert areas.threads == (1, 2, 4)
    luts = engine_luts("ipv4+mpls", 2, STORE).mean
    device = float(NP.parameters.luts_v7855t)
    assert areas.share(2, ("ipv4", "mpls")) == pytest.approx(luts / device)
    scaled = synthesised_systems.engines_of(NP, STORE, scaled=True)
    assert scaled.share(2, ("labels",)) / areas.share(2, ("labels",)) == pytest.approx(
        synthesised.scale(NP.parameters, STORE)
    )


def test_nothing_beside_engines_leaves_savings_to_ratios():
    one, other = (synthesised_systems.merged(NP, STORE, scaled) for scaled in (False, True))
    assert one["groups"] == other["groups"]
    assert [one[k] for k in ("isolated", "merged")] == pytest.approx([other[k] for k in ("isolated", "merged")])


def test_the_methods_with_other_areas_serve_all_routers():
    areas = synthesised_systems.engines_of(NP, STORE)
    for method in virtual_routers.METHODS:
        found = virtual_routers.consolidate(NP, "8.1.1", method, fixed=0, engines_of=areas)
        assert sum(sum(one.group.counts) for one in found) == 10
        assert {one.threads for one in found} <= {1, 2, 4}
