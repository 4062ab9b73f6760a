"""What steps declare is held to what their bodies do: wrong declarations are caught, by program, step and name."""

from dataclasses import replace

import pytest
from reference.gorilla_binding import recompiled
from reference.step_declarations import check_declared, ranges_text
from reference.step_tracing import Tracer

from npexplore.errors import ModelError
from npexplore.machine.step_programs import Answer, Call, Field, Kept, StepProgram, compile_steps, execute


class Tables:
    """What the step below looks into."""

    def __init__(self):
        self.ports, self.most = [3, 4], 1

    def port_of(self, number):
        return self.ports[number % (self.most + 1)]


TABLES = Tables()
KEEPS = {
    "key": Kept("key", 16, region="packet", first_bit=16),
    "reply": Kept("reply", 4, missing=True),
    "out": Kept("out", 3),
}
LISTED = {"modify": ["Tables.ports"]}


def program(fields=("key_field",), **keeps):
    """A packet of 8 bytes: bytes 2 and 3 are a key, byte 4 a time to live; the first two bytes are popped."""
    tables, kept = TABLES, {**KEEPS, **keeps}
    made = StepProgram(
        "p", "first",
        [Field("key_field", 16, region="packet", first_byte=2), Field("life", 8, region="packet", first_byte=2),
         Field("wide", 48, region="packet", first_byte=2)],
    )  # fmt: skip

    @made.step(fields, [Call("reply", "unit", ["key_field"])], ["modify"], [kept["key"], kept["reply"]])
    def first(c):
        c.key = c.packet[2] << 8 | c.packet[3]
        c.packet = c.packet[2:]
        return "modify"

    @made.step(["life"], keeps=[kept["out"]])
    def modify(c):
        c.packet = c.packet[:2] + bytes([c.packet[2] - 1]) + c.packet[3:]
        c.out = 0 if c.reply is None else tables.port_of(c.reply)

    return made


def traced(made, packets=((1, 2, 3, 4, 5, 6, 7, 8), (0, 0, 0xFF, 4, 9, 0, 0, 0))):
    units = {"unit": lambda key: Answer(None if key[0] > 9 else key[1])}
    found = Tracer(compile_steps(made), units, (Tables,))
    for packet in packets:
        trace = found.run(packet=bytes(packet))
        plain = execute(compile_steps(made), units, packet=bytes(packet)).context
        assert (bytes(trace.context.packet), trace.context.out) == (plain.packet, plain.out)
    return found


def test_what_steps_do_by_hand():
    found = traced(program())
    first, modify = found.uses["first"], found.uses["modify"]
    assert first.reads == {("packet", "packet"): set(range(16, 32))}
    assert first.widths == {"key": 16, "reply": 3}
    assert first.moves == {"packet": {2}}
    assert first.writes == {}
    assert modify.reads == {("packet", "packet"): set(range(16, 24))}
    assert modify.writes == {"packet": {2}}
    assert modify.tables == {"Tables.ports"}
    assert modify.kept_read == {"reply"}
    assert check_declared(found.program, found.uses, tables=LISTED) == ()


PLANTED = {
    "too narrow": (
        {"key": Kept("key", 15)},
        r"program 'p', step 'first': kept 'key' has 16 bits, but is declared with 15",
    ),
    "elsewhere": (
        {"key": Kept("key", 16, region="packet", first_bit=24)},
        r"step 'first': kept 'key' is 772, but bits 24 to 39 of 'packet', its declared place, hold 1029",
    ),
    "never missing": ({"reply": Kept("reply", 4)}, "step 'first': kept 'reply' is missing, but not declared"),
}


@pytest.mark.parametrize(("keeps", "message"), PLANTED.values(), ids=PLANTED)
def test_a_wrong_declaration_of_what_is_kept_is_caught(keeps, message):
    with pytest.raises(ModelError, match=message):
        traced(program(**keeps))


def test_a_kept_value_that_nobody_declares_is_caught_where_it_is_taken():
    made = program()
    made.steps["first"] = replace(made.steps["first"], keeps=())
    with pytest.raises(ModelError, match="step 'modify': kept 'reply' is taken, but no step before declares"):
        traced(made, [(1, 2, 3, 4, 5, 6, 7, 8)])


def refused(found, message, **more):
    with pytest.raises(ModelError, match=message):
        check_declared(found.program, found.uses, **{"tables": LISTED, **more})


def test_a_wrong_declaration_of_what_is_read_is_caught():
    with_life = program()
    with_life.fields["life"] = replace(with_life.fields["life"], first_byte=5)
    message = r"program 'p', step 'modify': reads 'packet' \(bits 16-23 of 'packet'\), which no field"
    refused(traced(with_life), message)
    known = [("modify", "undeclared", "packet")]
    refused(traced(with_life), "declares that it reads field 'life', but neither", known=known)
    narrow = program()
    narrow.fields["key_field"] = replace(narrow.fields["key_field"], bits=8, of=lambda c: c.packet[2:4])
    refused(traced(narrow), r"step 'first': reads 'packet' \(bits 24-31 of 'packet'\)")
    refused(traced(narrow), r"its calls look at bits 24-31", known=[("first", "undeclared", "packet")])
    refused(traced(program()), "'life' is listed as idle, but is not", known=[("modify", "idle", "life")])


def test_a_table_without_a_call_is_caught():
    refused(traced(program()), "step 'modify': looks into 'Tables.ports' without a call", tables={})
    refused(traced(program()), "step 'first': never looks into 'x'", tables={**LISTED, "first": ["x"]})


def test_steps_by_what_they_read():
    """16 bits that stand across two words of 24 bits: one step by their number, two by words."""
    found = traced(program())
    compiled = compile_steps(found.program, 24)
    assert [len(recompiled(compiled, found.uses)), len(recompiled(compiled, found.uses, whole_words=True))] == [2, 3]
    assert ranges_text([1, 4, 5, 6]) == "1, 4-6"


def test_fields_and_kept_values_that_cannot_be():
    with pytest.raises(ModelError, match="must have a region or say what it is of"):
        Field("f", 8)
    with pytest.raises(ModelError, match="must begin at byte 0 or later, got -1"):
        Field("f", 8, region="packet", first_byte=-1)
    with pytest.raises(ModelError, match="kept 'k' must have bits from 1"):
        Kept("k", 0)
