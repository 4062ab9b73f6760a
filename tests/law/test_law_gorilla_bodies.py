"""Bodies: what leaves is what the program makes of whole frames, byte by byte, in the order of arrival."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reference.gorilla_packets import KINDS
from reference.router_cases6 import MIXED, named_cases6

from npexplore.designs.gorilla.steps import Box, accelerators, engine_program, forward
from npexplore.designs.gorilla.steps.bodies import BodyBuffer, PostProcessor, recombine, split, stand_in
from npexplore.errors import InputError
from npexplore.golden.router.configuration import resolve_router
from npexplore.golden.router.forward import Forwarder

ROUTER = resolve_router(MIXED)
BOX = Box(Forwarder(ROUTER, profile="rfc1812", lookup="trie20_4_8"))
PROGRAM, UNITS = engine_program(BOX), accelerators(BOX)


def whole(port, frame):
    """The frame as the program leaves it that sees all of it."""
    sent = forward(PROGRAM, UNITS, port, frame).context.sent
    return None if sent is None else sent[1]


def headed(port, frame):
    """What the program makes of the header alone, and the length of the body."""
    header, body = split(frame)
    sent = forward(PROGRAM, UNITS, port, stand_in(header, len(body))).context.sent
    return None if sent is None else sent[1]


def held(cases, back, words=4096):
    """Frames through split, buffer and exit; headers come back in the order `back`."""
    buffer = BodyBuffer(words)
    exit_ = PostProcessor(buffer)
    addresses = [buffer.store(split(frame)[1]) for _, frame in cases]
    assert None not in addresses
    out = []
    for k in back:
        port, frame = cases[k]
        assert buffer.used + len(buffer._free) == words
        out += exit_.finish(k, addresses[k], headed(port, frame))
    assert buffer.used == 0
    assert out == [sent for sent in (whole(port, frame) for port, frame in cases) if sent is not None]


def test_named_cases_backwards():
    cases = [(port, frame) for _, port, frame, _ in named_cases6()]
    held(cases, range(len(cases))[::-1])
    assert sum(len(split(frame)[1]) > 0 for _, frame in cases) > 10


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), KINDS, st.binary(max_size=80)), min_size=1, max_size=6), st.data())
def test_any_packets_in_any_order(drawn, data):
    """Padding behind the packet is part of the body, and cut off with it."""
    cases = [(port, ROUTER.ports[port].mac + bytes(6) + kind + packet + pad) for port, (packet, kind), pad in drawn]
    held(cases, data.draw(st.permutations(range(len(cases)))))


@given(st.binary(max_size=200))
@example(bytes(12) + b"\x88\x47" + bytes(9))
@example(bytes(12) + b"\x08\x00\x4f" + bytes(30))
def test_header_and_body_are_the_frame(frame):
    header, body = split(frame)
    assert header + body == frame
    assert recombine(stand_in(header, len(body)), body) == frame


@given(st.lists(st.tuples(st.booleans(), st.binary(max_size=100)), max_size=60), st.integers(1, 20), st.data())
def test_the_buffer_keeps_what_it_has_room_for(steps, words, data):
    """Any bodies stored and fetched in any order: each comes out as it went in, words are neither lost nor shared."""
    buffer, kept = BodyBuffer(words), []
    for take, body in steps:
        if take and kept:
            address, wanted = kept.pop(data.draw(st.integers(0, len(kept) - 1)))
            assert buffer.fetch(address) == wanted
        else:
            needed = -(-len(body) // 16)
            room = needed <= words - buffer.used
            address = buffer.store(body)
            assert (address is not None) == room
            if room:
                kept.append((address, body))
        assert buffer.used == sum(-(-len(body) // 16) for _, body in kept)


def test_what_cannot_be_is_told():
    with pytest.raises(InputError, match="no body at address 3"):
        BodyBuffer(4).fetch(3)
    exit_ = PostProcessor(BodyBuffer(4))
    exit_.finish(1, -1, None)
    with pytest.raises(InputError, match="packet 1 came back twice"):
        exit_.finish(1, -1, None)
