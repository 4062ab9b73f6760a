"""Laws of the golden router's whole way, for any configuration and any frame, in both profiles."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference.forward_laws import assert_sound, fields

from npexplore.golden.ipv4.header import with_checksum
from npexplore.golden.ipv4.options import NOP, read_options
from npexplore.golden.lookup import LPMS
from npexplore.golden.reasons import Reason
from npexplore.golden.router.configuration import RouteColumns, Router
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.profiles import PROFILES
from npexplore.testing import frames, router_configurations
from npexplore.testing.strategies import malformed

usual = settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def draw_case(data, **options):
    """Return a router and frames for it."""
    router = data.draw(router_configurations())
    return router, data.draw(st.lists(frames(router, **options), min_size=1, max_size=8))


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
@usual
@given(data=st.data())
def test_every_outcome_is_sound(profile, data):
    router, cases = draw_case(data)
    golden = Forwarder(router, profile=profile, lookup="linear")
    for port, frame in cases:
        assert_sound(router, port, frame, golden.forward(port, frame))
    forwarded = sum(golden.forward(port, frame).reason is Reason.NONE for port, frame in cases)
    came, dropped = (
        sum(n for name, n in golden.counters.items() if name.startswith(kind)) for kind in ("in.", "drop.")
    )
    assert came == 2 * len(cases) == dropped + 2 * forwarded


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
@usual
@given(data=st.data())
def test_a_frame_cut_anywhere_or_made_wrong_has_an_outcome(profile, data):
    router, [(port, frame), *_] = draw_case(data)
    golden = Forwarder(router, profile=profile, lookup="linear")
    wrong = frame[:14] + data.draw(malformed(frame[14:]))
    for one in (wrong, *(frame[:kept] for kept in range(min(len(frame), 120)))):
        assert_sound(router, port, one, golden.forward(port, one))


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
@usual
@given(data=st.data(), ttl=st.integers(3, 255), payload=st.integers(0, 255))
def test_the_way_depends_on_neither_time_to_live_nor_contents(profile, data, ttl, payload):
    router, [(port, frame), *_] = draw_case(data, valid=True)
    packet = frame[14:]
    head = 4 * (packet[0] & 15)
    golden = Forwarder(router, profile=profile, lookup="linear")
    changed = packet[:8] + bytes([ttl]) + packet[9:head] + bytes([payload]) * (len(packet) - head)
    first = golden.forward(port, frame[:14] + with_checksum(packet[:8] + b"\x03" + packet[9:]))
    other = golden.forward(port, frame[:14] + with_checksum(changed))
    assert other.reason is first.reason
    ways = [[(s.port, s.frame[:14], len(s.frame)) for s in one.sent if not s.icmp] for one in (first, other)]
    assert ways[0] == ways[1]


@pytest.mark.slow
@usual
@given(data=st.data())
def test_later_pieces_carry_copied_options_alone(data):
    router, cases = draw_case(data, valid=True)
    golden = Forwarder(router, profile="rfc1812", lookup="linear")
    for port, frame in cases:
        pieces = [sent.frame[14:] for sent in golden.forward(port, frame).sent if not sent.icmp]
        copied = [o.octets[0] for o in read_options(pieces[0]).options if o.copied] if pieces else []
        for piece in pieces[1:]:
            assert [o.kind for o in read_options(piece).options if o.kind != NOP] == copied


@pytest.mark.slow
@usual
@given(
    data=st.data(), profile=st.sampled_from(sorted(PROFILES)), lookup=st.sampled_from(sorted(set(LPMS) - {"linear"}))
)
def test_any_lookup_structure_and_any_order_of_routes_give_the_same(data, profile, lookup):
    router, cases = draw_case(data, valid=True)
    kept = len(router.ports)
    order = [*range(kept), *data.draw(st.permutations(range(kept, len(router.routes))))]
    columns = (router.routes.value, router.routes.length, router.routes.kind, router.routes.port, router.routes.via)
    shuffled = Router(router.ports, RouteColumns(*(np.asarray(c)[order] for c in columns)), router.neighbours)
    reference = Forwarder(router, profile=profile, lookup="linear")
    other = Forwarder(shuffled, profile=profile, lookup=lookup)
    for port, frame in cases:
        assert other.forward(port, frame) == reference.forward(port, frame)


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
@usual
@given(data=st.data())
def test_nothing_is_told_about_a_message_of_the_router(profile, data):
    """An error that comes back in by the port it left by, time to live spent, gets no answer: there are no storms."""
    router, cases = draw_case(data, valid=True)
    golden = Forwarder(router, profile=profile, lookup="linear")
    for port, frame in cases:
        for sent in golden.forward(port, frame).sent:
            if sent.icmp and not fields(sent.frame[14:])["flags"] & 1:
                spent = with_checksum(sent.frame[14:22] + b"\x01" + sent.frame[23:])
                back = router.ports[sent.port].mac + bytes(6) + b"\x08\x00" + spent
                assert not any(again.icmp for again in golden.forward(sent.port, back).sent)
