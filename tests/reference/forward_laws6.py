"""What holds for every frame of IPv4, IPv6 or labels, whatever becomes of it: told from the RFCs alone."""

from reference.forward_laws import assert_sound, words_sum

IPV4, IPV6, LABELS = b"\x08\0", b"\x86\xdd", b"\x88\x47"
ICMP6, FIRST_INFORMATIONAL, REDIRECT = 58, 128, 137
# No payload length before hop-by-hop options: their jumbo option tells it (RFC 2675 section 3), or nothing does.
MAYBE_JUMBO = bytes(3)


def stack_length(packet):
    """Return how long a stack is; it must have a bottom."""
    at = 0
    while True:
        assert len(packet) >= at + 4, "a stack without a bottom"
        at += 4
        if packet[at - 2] & 1:
            return at


def below(sent, kind):
    """Return a frame that was sent without the labels that its route pushed."""
    if sent.frame[12:14] != LABELS:
        return sent
    packet = sent.frame[14:]
    assert packet[3], "nothing left to live"
    return sent._replace(frame=sent.frame[:12] + kind + packet[stack_length(packet) :])


def assert_sound_mixed(router, port, frame, outcome, *, jumbo=False):
    """Check one outcome of a router of all three protocols; jumbo: it looks for the option, and sends what has none."""
    kind = frame[12:14]
    assert bool(outcome.reason) != any(not one.icmp for one in outcome.sent)
    for one in outcome.sent:
        assert one.frame[6:12] == router.ports[one.port].mac
        assert one.frame[12:14] in (IPV4, IPV6, LABELS)
        assert len(one.frame) - 14 <= router.ports[one.port].mtu
        if one.frame[12:14] == LABELS:
            stack_length(one.frame[14:])
    if kind == IPV4:
        assert_sound(router, port, frame, outcome._replace(sent=tuple(below(one, IPV4) for one in outcome.sent)))
    if kind == IPV6:
        assert not outcome.sent or jumbo or frame[18:21] != MAYBE_JUMBO
        assert_sound6(frame, [below(one, IPV6) for one in outcome.sent])


def assert_sound6(frame, sent):
    """Check what became of a frame of IPv6: it lost one hop and nothing else; messages are right and may be sent."""
    came = frame[14:]
    if not sent:
        return
    if came[4:7] != MAYBE_JUMBO:
        came = came[: 40 + int.from_bytes(came[4:6], "big")]
    for one in sent:
        packet = one.frame[14:]
        assert one.frame[12:14] == IPV6
        assert packet[4:7] == MAYBE_JUMBO or len(packet) == 40 + int.from_bytes(packet[4:6], "big")
        if not one.icmp:
            assert packet == came[:7] + bytes([came[7] - 1]) + came[8:]
            assert packet[7], "no hop limit left"
            assert came[24] != 0xFF, "multicast"
            continue
        assert_message(came, packet, bool(frame[0] & 1))
    assert len(sent) == len({one.icmp for one in sent})


def assert_message(came, message, link_multicast):
    """Check an ICMPv6 message about a packet (RFC 4443 section 2.4, RFC 4861 section 8)."""
    body = message[40:]
    assert (message[6], len(message) <= 1280, message[24:40] == came[8:24]) == (ICMP6, True, True)
    assert words_sum(message[8:40] + len(body).to_bytes(4, "big") + bytes([0, 0, 0, ICMP6]) + body) == 0xFFFF
    assert message[8] != 0xFF, "from many"
    if body[0] == REDIRECT:
        assert (message[7], message[8:10], came[24] != 0xFF, link_multicast) == (255, b"\xfe\x80", True, False)
        assert body[24:40] == came[24:40]
        assert body[8:24] == came[24:40] or body[8:10] == b"\xfe\x80", "hosts take no other target"
        assert came.startswith(body[56:])
        return
    assert body[0] in (1, 2, 3, 4)
    assert body[8:] == came[: 1280 - 48]
    assert not any(came[8:24]) or came[8] != 0xFF
    if came[24] == 0xFF or link_multicast:
        assert body[0] == 2 or (body[0], body[1]) == (4, 2)
    assert came[6] != ICMP6 or len(came) <= 40 or (came[40] >= FIRST_INFORMATIONAL and came[40] != REDIRECT)
