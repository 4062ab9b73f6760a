"""What holds for every frame and whatever becomes of it, in both profiles: told from RFC 791, 792 and 1812 alone."""

import struct

ICMP, ERRORS = 1, (3, 4, 5, 11, 12)
BROADCAST, FIRST_MULTICAST = 0xFFFFFFFF, 0b1110


def words_sum(data):
    """Return the one's complement sum of 16-bit words."""
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def fields(packet):
    """Return the fields of a header as a dict, the rest as `payload`."""
    size = 4 * (packet[0] & 15)
    names = ("tos", "length", "id", "place", "ttl", "protocol", "checksum", "source", "destination")
    found = dict(zip(names, struct.unpack(">BHHHBBHII", packet[1:20]), strict=True))
    place = found.pop("place")
    found |= {"flags": place >> 13, "offset": place & 0x1FFF, "options": packet[20:size], "payload": packet[size:]}
    return found


def assert_sound(router, port, frame, outcome):
    """Check one outcome of a golden router against the laws."""
    forwarded = [sent for sent in outcome.sent if not sent.icmp]
    told = [sent for sent in outcome.sent if sent.icmp]
    assert bool(outcome.reason) != bool(forwarded), "a packet is forwarded or there is a reason why not"
    for sent in outcome.sent:
        at = router.ports[sent.port]
        packet = sent.frame[14:]
        assert sent.frame[6:14] == at.mac + b"\x08\x00"
        assert packet[0] >> 4 == 4
        assert words_sum(packet[: 4 * (packet[0] & 15)]) == 0xFFFF
        assert fields(packet)["length"] == len(packet) <= at.mtu
    if forwarded:
        assert_forwarded(frame[14:], [sent.frame[14:] for sent in forwarded])
        assert len({sent.port for sent in forwarded}) == 1
    if told:
        assert_may_tell(router, frame)
        assert_messages(frame[14:], [sent.frame[14:] for sent in told])


def assert_forwarded(packet, pieces):
    """Check what a router leaves alone, what it counts down, and that pieces make the packet."""
    came = fields(packet[: fields(packet)["length"]])
    routed = came["options"] and any(kind in came["options"] for kind in (131, 137))
    octets = {}
    for number, piece in enumerate(pieces):
        went = fields(piece)
        for name in ("tos", "id", "protocol", "source"):
            assert went[name] == came[name], name
        assert went["ttl"] == came["ttl"] - 1 >= 1
        assert went["destination"] == came["destination"] or routed
        if number < len(pieces) - 1:
            assert went["flags"] & 1
            assert len(went["payload"]) % 8 == 0
        start = 8 * (went["offset"] - came["offset"] & 0x1FFF)
        for place, octet in enumerate(went["payload"], start):
            assert octets.setdefault(place, octet) == octet
    assert bytes(octets[place] for place in sorted(octets)) == came["payload"]
    assert sorted(octets) == list(range(len(octets)))
    assert len(pieces) == 1 or not came["flags"] & 2, "what must not be fragmented is not"
    if len(pieces) == 1:
        assert (fields(pieces[0])["flags"], fields(pieces[0])["offset"]) == (came["flags"], came["offset"])


def assert_may_tell(router, frame):
    """Check that nothing forbids an ICMP error about a frame (RFC 1812 section 4.3.2.7)."""
    about = fields(frame[14:])
    assert not frame[0] & 1, "the link layer broadcast it"
    assert about["offset"] == 0, "a later fragment"
    assert about["destination"] >> 28 != FIRST_MULTICAST
    assert about["destination"] != BROADCAST
    for port in router.ports:
        assert about["destination"] not in port.broadcasts, "a directed broadcast"
    assert about["protocol"] != ICMP or about["payload"][:1] not in [bytes([kind]) for kind in ERRORS]


def assert_messages(packet, messages):
    """Check ICMP errors: one packet gets one, in pieces at most; its checksum is right, and it quotes the packet."""
    heads = [fields(message) for message in messages]
    body = b"".join(head["payload"] for head in sorted(heads, key=lambda head: head["offset"]))
    assert sum(head["offset"] == 0 for head in heads) == 1
    assert {head["protocol"] for head in heads} == {ICMP}
    assert body[0] in ERRORS
    assert words_sum(body) == 0xFFFF
    assert sum(len(head["payload"]) for head in heads) <= 576 - 20
    quoted = body[8:]
    assert quoted[12:16] == packet[12:16]
    assert quoted[:8] == packet[:8]
