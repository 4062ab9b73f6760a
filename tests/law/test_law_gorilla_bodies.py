"""Bodies: what leaves is what the program makes of whole frames, byte by byte."""

from hypothesis import example, given, settings
from hypothesis import strategies as st
from reference.gorilla_packets import KINDS
from reference.router_cases6 import MIXED, named_cases6

from npexplore.designs.gorilla.steps import Box, accelerators, engine_program, forward
from npexplore.designs.gorilla.steps.bodies import header_end, split
from npexplore.golden.router.configuration import resolve_router
from npexplore.golden.router.forward import Forwarder

ROUTER = resolve_router(MIXED)
BOX = Box(Forwarder(ROUTER, profile="rfc1812", lookup="trie20_4_8"))
PROGRAM, UNITS = engine_program(BOX), accelerators(BOX)


def whole(port, frame):
    """The frame as the program leaves it that sees all of it."""
    sent = forward(PROGRAM, UNITS, port, frame).context.sent
    return None if sent is None else sent[1]


def recombined(sent, body):
    """The frame that leaves, from what the program made of a header with zeros behind it."""
    if not body:
        return sent
    end = max(header_end(sent), len(sent) - len(body))
    return sent[:end] + body[: len(sent) - end]


def headed(port, frame):
    """What leaves when the program sees the header alone, and the length of the body."""
    header, body = split(frame)
    sent = whole(port, header + bytes(len(body)))
    return None if sent is None else recombined(sent, body)


def test_named_cases():
    cases = [(port, frame) for _, port, frame, _ in named_cases6()]
    assert [headed(*case) for case in cases] == [whole(*case) for case in cases]
    assert sum(len(split(frame)[1]) > 0 for _, frame in cases) > 10


@settings(max_examples=120, deadline=None)
@given(st.integers(0, 4), KINDS, st.binary(max_size=80))
def test_any_packets(port, drawn, pad):
    """Padding behind the packet is part of the body, and cut off with it."""
    packet, kind = drawn
    frame = ROUTER.ports[port].mac + bytes(6) + kind + packet + pad
    assert headed(port, frame) == whole(port, frame)


@given(st.binary(max_size=200))
@example(bytes(12) + b"\x88\x47" + bytes(9))
@example(bytes(12) + b"\x08\x00\x4f" + bytes(30))
def test_header_and_body_are_the_frame(frame):
    header, body = split(frame)
    assert header + body == frame
    assert recombined(header + bytes(len(body)), body) == frame
