"""Formulas give the bounds, on every listed design, with its knobs at random; derivatives are the elasticities."""

import copy
import pickle
from functools import cache

import numpy as np
import pytest
import sympy

import npexplore
from npexplore.designs import DESIGNS, design
from npexplore.errors import InputError, NpexploreError, UnknownNameError
from npexplore.study.formulas.search import _Search, formulas

SLOW = ("ixp1200", "raw")  # hundreds of servers: some of their formulas are asked, of packets of one length
SLOW_FORMULAS = 10


def asked(name):
    """Return a listed design and the packets it is asked for."""
    made = design(name)
    packets = {"packet_bytes": 64} if name in SLOW else {"mix": "amp"}
    return made, None if made.own is not None else npexplore.workload(**packets)


def test_knobs_of_an_expression_come_in_the_order_of_the_machine_in_every_process():
    """By the order of a set, which is another in each process, other knobs were held, and formulas differed."""
    at = dict.fromkeys("gahcfbed", 1.0)
    assert list(_Search._own(sympy.Add(*map(sympy.Symbol, "abcdefgh")), at)) == [*at]


@cache
def told_of(name):
    """Return a design's formulas, found once."""
    return formulas(*asked(name))


@pytest.mark.filterwarnings("ignore::npexplore.units.UnitWarning")  # random clocks are no whole ticks
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else []) for n in DESIGNS])
def test_formulas_give_the_ceilings_and_the_latency_with_knobs_at_random(name):
    made, load = asked(name)
    found, today = told_of(name), made.demands(load)
    assert {*found.ceilings, *found.refused} >= today.ceilings().keys()  # refused by name, or told
    assert next(iter(found.ceilings)) == min(today.ceilings(), key=today.ceilings().get)
    assert found.latency is not None
    rng, known, compared = np.random.default_rng(7), made.parameters.file.parameter, 0
    points = 1 if name in SLOW else 3
    for _ in range(points):
        point = {}
        for knob in sorted(found.values.keys() & known.keys() - found.held.keys()):
            p, value = known[knob], float(made.parameters[knob]) * rng.uniform(0.75, 1.5)
            low, high = (-np.inf if p.min is None else p.min), (np.inf if p.max is None else p.max)
            value = min(max(value, low), high)
            point[knob] = max(round(value), 1) if isinstance(p.value, int) else value
            if sizes := [one for one in p.choices if not isinstance(one, str)]:
                point[knob] = int(rng.choice(sizes))
        asked_at = {}  # each formula speaks of its own knobs, with all others as they are
        drawn = [*found.ceilings.items()]
        if name in SLOW:
            drawn = [drawn[k] for k in rng.choice(len(drawn), SLOW_FORMULAS, replace=False)]
        for resource, formula in [*drawn, ("latency", found.latency)]:
            own = {k: v for k, v in point.items() if k in map(str, formula.expression.free_symbols)}
            key = frozenset(own)
            if key not in asked_at:
                try:
                    asked_at[key] = made.with_(**own).demands(load)
                except NpexploreError:  # no such machine
                    asked_at[key] = None
            u = asked_at[key]
            if u is not None:
                expected = u.demands.latency if formula is found.latency else u.ceilings()[resource]
                assert found.value(formula, **own) == pytest.approx(expected, rel=1e-12), resource
                compared += 1
    assert compared > points * len(drawn) // 2


def test_the_bus_of_the_packet_buffer_is_what_anybody_would_write_down():
    found = told_of("ixp2400")
    bus = str(found.ceilings["dram.bus"].expression)
    assert bus == "125000*bus_bits*bus_clock_mhz/(bus_overhead_bytes*dram.accesses + dram.bytes)"
    assert found.binds.name == "dram.bus"
    assert str(found.ceilings["hash"].expression) == "1000000000/hash_ns"
    assert found.held.keys() >= {"cell_bytes", "header_bytes"}
    assert r"\text{bus_bits} \cdot \text{bus_clock_mhz}" in found.ceilings["dram.bus"].latex
    overhead = found.values["bus_overhead_bytes"] * found.values["dram.accesses"]
    expected = -overhead / (overhead + found.values["dram.bytes"])
    document = found.to_dict()
    today = {e["knob"]: e["today"] for e in document["elasticities"]}
    assert today == pytest.approx({"bus_bits": 1.0, "bus_clock_mhz": 1.0, "bus_overhead_bytes": expected}, rel=1e-12)
    assert "dram.bus = 125000*" in str(found)


def test_beyond_a_crossing_the_other_ceiling_binds():
    made, load = asked("ixp2400")
    found = told_of("ixp2400")
    crossing = next(c for c in found.crossings if c.knob == "bus_clock_mhz")
    assert crossing.below
    for value, binds in ((crossing.value * 0.999, crossing.binds), (crossing.value * 1.001, crossing.other)):
        assert made.with_(bus_clock_mhz=value).bounds(load).bottleneck == binds
    assert "binds below bus_clock_mhz" in str(crossing)


def test_a_knob_that_acts_in_steps_is_refused_by_name():
    found = told_of("ixp2400_dram")
    with pytest.raises(InputError, match=r"access_bytes acts in steps and must be 64"):
        found.value(found.binds, access_bytes=65)
    with pytest.raises(UnknownNameError, match="bus_bit"):
        found.value(found.binds, bus_bit=32)


def test_formulas_are_the_same_after_they_were_sent():
    """SymPy's own pickling made 1/50000000 + (read_share + 3)/100000000 another sum."""
    found = npexplore.design("ixp2400_dram").formula(npexplore.workload(packet_bytes=64))
    for came in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert came == found
        assert repr(list(came.ceilings.values())) == repr(list(found.ceilings.values()))
