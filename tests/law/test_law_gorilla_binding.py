"""The router's declarations bind: what each step reads, keeps and looks up is what its body does, on any packets."""

import random
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from reference.gorilla_binding import check, recompiled, trace, tracer
from reference.gorilla_packets import KINDS
from reference.router_cases import named_cases
from reference.router_cases6 import MIXED, named_cases6
from reference.step_declarations import check_declared
from reference.step_tracing import Tracer

from npexplore.designs.gorilla.steps import PROTOCOLS, Box, forward, lookup, trie_program
from npexplore.designs.gorilla.steps.router import PORTS, accelerators, engine_program
from npexplore.errors import ModelError
from npexplore.golden.lookup import Trie20_4_8
from npexplore.golden.router.configuration import resolve_router
from npexplore.golden.router.forward import Forwarder
from npexplore.machine.step_programs import Answer, Context

ROUTER, CASES = named_cases()
FOUR, MIX = (Forwarder(one, profile="rfc1812", lookup="trie20_4_8") for one in (ROUTER, resolve_router(MIXED)))


def most_labels(frame):
    """Return how many entries of a label stack a frame may have: up to its bottom, or its end."""
    entries = [frame[at : at + 4] for at in range(14, len(frame), 4)] if frame[12:13] == b"\x88" else []
    return next((k for k, entry in enumerate(entries, start=1) if entry[2:3] and entry[2] & 1), len(entries))


@cache
def packets(number, count=100):
    """Return cases of the mixed router: named ones, and drawn ones of a seed; up to four labels, as in the paper."""
    drawn = [case[1:3] for case in named_cases6()]

    @seed(number)
    @settings(max_examples=count, database=None, deadline=None)
    @given(st.integers(0, 4), KINDS, st.booleans())
    def draw(port, made, many):
        mac = b"\x33\x33\0\0\0\1" if many else MIX.router.ports[port].mac
        drawn.append((port, mac + bytes(6) + made[1] + made[0]))

    draw()
    return [(port, frame) for port, frame in drawn if most_labels(frame) <= 4]


def traced(protocols, counting, number):
    found = tracer(Box(MIX, source_lookup=counting), protocols, counting)
    for port, frame in packets(number):
        trace(found, port, frame)
    if "ipv4" in protocols or "mpls" in protocols:  # further ways through the same steps, over other tables
        more = tracer(Box(FOUR, source_lookup=counting), ["ipv4"], counting, found.uses)
        for _, port, frame in CASES:
            trace(more, port, frame)
    return found


def readings(found):
    """Return what steps read, by name, without how far a stack goes."""
    made = {}
    for step, uses in found.uses.items():
        most = 32 if step == "mpls_extract" else 1024
        made[step] = {key: {bit for bit in bits if bit < most} for key, bits in uses.reads.items()}, uses.tables
    return made


# by declared bits, by derived bits, by whole words of what is derived
COUNTS = {
    (("ipv4",), False): (10, 11, 13), (("ipv6",), False): (12, 15, 17), (("mpls",), False): (13, 15, 18),
    (("ipv4",), True): (11, 12, 15), (("ipv6",), True): (13, 17, 19), (("mpls",), True): (14, 16, 20),
    (("labels",), False): (8, 9, 10), (PROTOCOLS, True): (21, 27, 33),
}  # fmt: skip


@pytest.mark.parametrize(("protocols", "counting"), COUNTS)
def test_every_program_does_what_it_declares_whatever_the_seed(protocols, counting):
    first, second = (traced(protocols, counting, number) for number in (1, 2))
    assert [one.key for one in check(first)] == [one.key for one in check(second)]
    assert readings(first) == readings(second)
    compiled = engine_program(Box(MIX), protocols, counting)
    derived = [len(recompiled(compiled, first.uses, PORTS, whole)) for whole in (False, True)]
    assert (len(compiled), *derived) == COUNTS[protocols, counting]


def garbled(context, uses, rng):
    """Return a context in which all that a step is not derived to read is another: bits, kept values, parts of them."""
    other = Context(**vars(context))
    for name, value in vars(context).items():
        if name[0] == "_":
            continue
        if isinstance(value, bytes):
            unread = sorted(set(range(8 * min(len(value), 64))) - uses.reads.get((name, name), set()))
            changed = bytearray(value)
            for bit in rng.sample(unread, min(len(unread), 9)):
                changed[bit // 8] ^= 128 >> bit % 8
            setattr(other, name, bytes(changed))
        elif hasattr(value, "_fields"):
            parts = {part: None for part in value._fields if f"{name}.{part}" not in uses.kept_read}
            setattr(other, name, value._replace(**parts))
        elif name not in uses.kept_read:
            setattr(other, name, None)
    return other


def outcome(context, names):
    """Return values by name; of the frame that leaves its port alone, since bytes that nobody reads may be any."""
    kept = {name: getattr(context, name) for name in names}
    return {name: value[0] if name == "out" else value for name, value in kept.items()}


def changed(context, before):
    """Return the names of what is kept anew, but for bytes."""
    now = {name: value for name, value in vars(context).items() if name[0] != "_" and not isinstance(value, bytes)}
    return {name for name, value in now.items() if name not in before or before[name] is not value}


def test_what_a_step_is_not_derived_to_read_changes_nothing():
    """Traced on packets of one seed, held to on those of another."""
    found, rng, tried = traced(PROTOCOLS, True, 1), random.Random(7), set()
    box = Box(MIX, source_lookup=True)
    compiled, units = engine_program(box, PROTOCOLS, True), accelerators(box)

    def guarded(step):
        def run(context):
            other = garbled(context, found.uses[step.name], rng)
            before = dict(vars(context)), dict(vars(other))
            going = step.run(context), step.run(other)
            assert going[0] == going[1], step.name
            names = changed(context, before[0]) | changed(other, before[1])
            assert outcome(other, names) == outcome(context, names), step.name
            tried.add((step.name, going[0]))
            return going[0]

        return replace(step, run=run)

    steps = compiled.program.steps
    steps.update({name: guarded(step) for name, step in steps.items()})
    for port, frame in packets(2):
        forward(compiled, units, port, frame)
    assert {step for step, _ in tried} == set(steps)
    assert len(tried) > 30


def all_cases(found):
    for _, port, frame in CASES:
        trace(found, port, frame)


def test_declarations_planted_wrong_are_caught():
    box = Box(FOUR)
    for step, name, change, message in (
        (
            "ipv4_extract",
            "header.total_length",
            {"first_bit": 24},
            "step 'ipv4_extract': kept 'header.total_length' is",
        ),
        (
            "ipv4_extract",
            "header.source",
            {"bits": 31, "region": ""},
            "kept 'header.source' has 32 bits, but is declared",
        ),
        ("ipv4_lookup", "da_class", {"missing": False}, "step 'ipv4_lookup': kept 'da_class' is missing, but"),
    ):
        found = tracer(box, ["ipv4"])
        steps = found.program.steps
        keeps = [replace(kept, **change) if kept.name == name else kept for kept in steps[step].keeps]
        steps[step] = replace(steps[step], keeps=tuple(keeps))
        with pytest.raises(ModelError, match=message):
            all_cases(found)


def test_a_field_that_moves_is_told():
    found = traced(("ipv4",), False, 1)
    fields = found.program.fields
    fields["ipv4_addresses"] = replace(fields["ipv4_addresses"], first_byte=20)
    with pytest.raises(
        ModelError, match=r"step 'ipv4_lookup': reads 'destination' \(bits 128-159 of 'packet'\), which"
    ):
        check(found)


def test_a_lookup_reads_its_address_and_nothing_beside_it():
    trie = Trie20_4_8.from_routes([("10.0.0.0/8", 1), ("10.1.2.0/24", 2), ("10.1.2.3/32", 3)])
    unit = lookup(trie)
    units = {f"memory{n + 1}": lambda at, n=n: Answer(trie.entry(n, at)) for n in range(3)}
    found = Tracer(trie_program(trie), units, (Trie20_4_8,))
    for key in (0x0A000001, 0x0A010201, 0x0A010203, 0x0B000000):
        assert found.run(key=key, at=key >> 12).context.answer == unit(key).value
    levels = [("level3", "idle", "address")]  # the last level has no further index
    strides, hops = ["Trie20_4_8.STRIDES"], ["Trie20_4_8._hops"]  # constants; the number in a leaf to the route's
    tables = {"level1": strides, "level2": strides, "done": hops}
    assert [one.key for one in check_declared(found.program, found.uses, levels, tables)] == levels
