"""Numbers of machines of today, of the shelf's parts and of kinds, out of range or odd: a finite machine or a refusal.

Listed means tested: a parameter that comes new is tried here. A refusal names the parameter, or the thing that has it,
and says a rule.
"""

import re
from functools import cache
from math import isfinite
from random import Random
from types import UnionType
from typing import Union, get_args, get_origin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.random_kinds import GIVEN
from reference.small_machines import CASES, machine, packets

import npexplore as npx
from npexplore.errors import ModelError, NpexploreError
from npexplore.machine.described.kinds import shown
from npexplore.machine.described.part_files import PARTS, shelf_part
from npexplore.machine.described.parts import part
from npexplore.machine.described.resources import operands
from npexplore.machine.ranges import words
from npexplore.machine.resources import KINDS
from npexplore.solve.bounds import bounds

NONE = [float("nan"), float("inf"), -float("inf")]
ODD = [*NONE, 0, -1, 0.5, 300, 2**63, 1e300, 1e-300]
ANY = st.one_of(st.sampled_from(ODD), st.integers(-(2**70), 2**70), st.floats())
RULE = re.compile(r"must (be|have|hold|leave|name)|was not measured")
LOAD = npx.workload(packet_bytes=64)
CALLED = {  # what a refusal may name in a parameter's place
    "cqe_bytes": "completion", "descriptor_bytes": "completion", "own_entries": "entries", "hash_entries": "entries",
    "tags": "link.tag", "header_credits": "link.header", "credits": "credit", "credit_bytes": "credit",
    "device_ways": "ways of devices", **{f"l{k}_{what}": f"l{k}" for k in "123" for what in ("kb", "mb", "ways")},
}  # fmt: skip
WAYS = {  # on which all parameters of a machine are read
    "pcie": [
        {}, {"op": "both", "cache": "cold"}, {"op": "write", "host": "hsw1226"},
        {"op": "write_then_read", "host": "bdw2630", "iommu": "small", "window_bytes": 2**24},
    ],
    "server": [
        {"program": "ddos_filter"}, {"program": "tx", "egress": "other_port", "cores": 6, "ring": 4096},
        {"program": "own", "own_lookup": "flow_table", "own_entries": 4000, "cqe_compress": "on"},
        {"program": "redirect", "steering": "hash", "ring": 256, "egress": "other_port", "cores": 3, "flows": 50},
        {"program": "route", "table": "full", "striding": "on", "ring": 512, "flows": 500},
        {"stack": "linux", "program": "route", "table": "full"}, {"nic": "xl710", "generated_mpps": 10.0},
    ],
    "smartnic": [{}, {"buffer": "memory", "packed": 8}],
}  # fmt: skip
MACHINES = [
    (name, knob)
    for name in WAYS
    for knob, one in npx.design(name).parameters.file.parameter.items()
    if not isinstance(one.value, str)
]
SHELF = [(kind, key) for kind in PARTS for key, one in shelf_part(kind).parameters.items() if not words(one.choices)]
SCALARS = [
    (name, key)
    for name, kind in KINDS.items()
    for key, (hint, _) in operands(kind, without={"name": None}).items()
    if {int, float} & ({hint} | (set(get_args(hint)) if get_origin(hint) in (Union, UnionType) else set()))
]


def held(name, make):
    """What is made, or None after a refusal that names who is refused and says a rule."""
    try:
        return make()
    except NpexploreError as error:
        said = str(error)
    assert name in said or CALLED.get(name, name) in said or f"p.{name.rpartition('.')[2]} " in said
    assert RULE.search(said)
    return None


def finite(answer):
    """Whether there is no answer, or one of a machine that can be."""
    if answer is None:
        return True
    return isfinite(answer.rate_pps) and answer.rate_pps > 0 and isfinite(answer.latency_s.mean)


def at(name, way, knob, value):
    return held(knob, lambda: npx.design(name).with_(**{**way, knob: value}).bounds(LOAD))


@cache
def read_on(name):
    """The ways of a machine, with what is read on each."""
    return [(way, npx.design(name).with_(**way).depends_on(LOAD)) for way in WAYS[name]]


@pytest.mark.parametrize(("name", "knob"), MACHINES)
def test_a_machine_of_today_with_an_odd_number_is_finite_or_refused(name, knob):
    way = next((way for way, read in read_on(name) if knob in read), {})
    found = [at(name, way, knob, value) for value in ODD]
    assert found[: len(NONE)] == [None] * len(NONE)
    assert all(finite(answer) for answer in found)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(MACHINES), ANY, st.data())
def test_so_it_is_with_any_number(machine_knob, value, data):
    name, knob = machine_knob
    assert finite(at(name, data.draw(st.sampled_from(WAYS[name])), knob, value))


def in_part(kind, key, value):
    """A visit with time to a part that has such a parameter, or None where it is refused."""
    case = next(case for case in CASES if case.kind == kind and case.latency_ns)
    given_ = {**GIVEN[kind](Random(1)), key: value}
    made = held(key, lambda: part(kind, case.resource.name, **given_))
    if made is None:
        return None
    program = lambda m, packet: getattr(getattr(m, made.name), case.method)(**case.operands)  # noqa: E731
    return held(key, lambda: bounds(machine([made], program), packets(64)))


@pytest.mark.parametrize(("kind", "key"), SHELF)
def test_a_part_with_an_odd_number_is_finite_or_refused(kind, key):
    found = [in_part(kind, key, value) for value in ODD]
    assert found[: len(NONE)] == [None] * len(NONE)
    assert all(finite(answer) for answer in found)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(SHELF), ANY)
def test_so_is_a_part_with_any_number(kind_key, value):
    assert finite(in_part(*kind_key, value))


@pytest.mark.parametrize(("name", "key"), SCALARS)
def test_a_kind_with_an_odd_number_is_made_or_refused_by_its_name(name, key):
    """A whole number is never made of a part of one, and no size of what is no number."""
    needs = operands(KINDS[name], without={"name": None})
    (_, arguments), whole = shown(name)._arguments, float not in {*(get_args(needs[key][0]) or (needs[key][0],))}
    for value in (*NONE, 0, -1, 0.5, 3):
        made, said = None, "thing"
        try:
            made = KINDS[name](**{**arguments, "name": "thing", key: value})
        except ModelError as error:
            said = str(error)
        assert "thing" in said or key in said
        if made is not None:
            assert 0 <= value < float("inf")
            assert not whole or value == int(value)


@pytest.mark.parametrize("name", WAYS)
def test_every_number_of_a_machine_is_read_on_some_way(name):
    """But for what belongs to other hosts and programs: those numbers are of the same kind."""
    read = {knob for _, found in read_on(name) for knob in found}
    unread = {knob for of, knob in MACHINES if of == name} - read
    alike = re.compile(r"(payload|request|l3)_[a-z]+\d+|read_ns_|cycles_|interrupt_|(memory|control)_socket|own_|mov")
    told = {"moderation_us", "call_ns", "calls", "clock_mhz", "l1_ways", "own_cycles"}
    assert {knob for knob in unread if not alike.match(knob)} <= told
