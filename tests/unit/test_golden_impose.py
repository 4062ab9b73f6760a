"""Labels that routes push: time to live by model, what is left of the link, errors when loading."""

import msgspec
import pytest
from reference.router_cases6 import MIXED, a, framed, six

from npexplore.errors import InputError
from npexplore.golden.checksum import header_checksum_is_right
from npexplore.golden.ipv4.header import DF, MF, read_header, write_packet
from npexplore.golden.mpls.impose import impose, prepared_stack
from npexplore.golden.mpls.stack import label_at, read_stack
from npexplore.golden.reasons import Reason
from npexplore.golden.router.configuration import load_router, resolve_router
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.records import PortRecord, RouteRecord, RouterFile

GOLDEN = Forwarder(resolve_router(MIXED), lookup="binary_trie")
FROM, TO_TWO, TO_NULL = (
    0x14000001,
    0x15000002,
    0x16000002,
)  # by 20/8; 21/8 pushes 16 17, 22/8 pushes 18 0 onto 296 bytes
PORT = PortRecord(
    name="p", address="10.0.0.1/24", address6="2001:db8::1/64", mac="02:00:00:00:00:01", peer_mac="02:00:00:00:00:02"
)


def sent(packet, kind=b"\x08\0"):
    """Return what leaves for a packet that comes in by port 0."""
    return GOLDEN.forward(0, framed(packet, kind)).sent


def rows(packet):
    """Return (label, traffic class, bottom, ttl) of a stack's entries."""
    return [tuple(label_at(packet, number)) for number in range(read_stack(packet).depth)]


def test_uniform_labels_get_what_is_left_to_the_packet():
    (out,) = sent(write_packet(FROM, TO_TWO, b"data", ttl=9))
    assert (out.port, out.frame[:14].hex()) == (1, "0200000001010200000000018847")
    assert rows(out.frame[14:]) == [(16, 0, 0, 8), (17, 0, 1, 8)]
    below = out.frame[22:]
    assert (below[8], header_checksum_is_right(below)) == (8, True)


@pytest.mark.parametrize(("destination", "labels"), [("2001:db8:10::7", [20, 21, 22, 23]), ("2001:db8:11::7", [24, 2])])
def test_models_of_ipv6(destination, labels):
    (out,) = sent(six(a(destination), hop_limit=9), b"\x86\xdd")
    ttl = 8 if labels[0] == 20 else 255
    last = len(labels) - 1
    assert rows(out.frame[14:]) == [(label, 0, int(k == last), ttl) for k, label in enumerate(labels)]
    assert out.frame[14 + 4 * len(labels) + 7] == 8


def test_pipe_labels_begin_with_255():
    (out,) = sent(write_packet(FROM, TO_NULL, b"data", ttl=9))
    assert rows(out.frame[14:]) == [(18, 0, 0, 255), (0, 0, 1, 255)]
    assert prepared_stack([18, 0], "pipe") == prepared_stack([18, 0], "short-pipe") == out.frame[14:22]


def test_every_piece_is_below_the_labels():
    """RFC 3032 section 3.4: pieces are at least as much shorter than the link's MTU as the labels are long."""
    packet = write_packet(FROM, TO_NULL, bytes(range(256)) * 3, ttl=9)
    out = sent(packet)
    assert [len(one.frame) - 14 <= 296 for one in out] == [True] * 3
    assert {one.frame[14:22] for one in out} == {prepared_stack([18, 0], "pipe")}
    heads = [read_header(one.frame[22:]) for one in out]
    assert [(head.fragment_offset, head.flags) for head in heads] == [(0, MF), (33, MF), (66, 0)]
    assert b"".join(one.frame[42:] for one in out) == packet[20:]


def test_senders_are_told_what_the_labels_leave():
    told = sent(write_packet(FROM, TO_NULL, bytes(300), flags=DF))[0].frame[34:]
    assert (told[0], told[1], int.from_bytes(told[6:8], "big")) == (3, 4, 296 - 8)
    told = sent(six(a("2001:db8:10::7"), payload=bytes(1450)), b"\x86\xdd")[0].frame[54:]
    assert (told[0], told[1], int.from_bytes(told[4:8], "big")) == (2, 0, 1500 - 16)


def test_messages_of_the_router_go_below_the_labels_too():
    (four,) = sent(write_packet(TO_TWO, FROM, b"data", ttl=1))
    (other,) = sent(six(source=a("2001:db8:10::7"), hop_limit=1), b"\x86\xdd")
    assert [one.icmp for one in (four, other)] == [True, True]
    assert rows(four.frame[14:]) == [(16, 0, 0, 64), (17, 0, 1, 64)]
    assert [row[0] for row in rows(other.frame[14:])] == [20, 21, 22, 23]


def test_nothing_left_to_live_is_not_labelled():
    assert GOLDEN.forward(0, framed(write_packet(FROM, TO_TWO, ttl=1), b"\x08\0")).reason is Reason.TTL_EXPIRED


def test_a_host_is_not_redirected_to_a_hop_below_labels():
    outcome = GOLDEN.forward(1, framed(write_packet(0x0A010007, TO_TWO), b"\x08\0", 1))
    assert [one.icmp for one in outcome.sent] == [False]


def test_without_a_stack_nothing_is_put_in_front():
    packet = write_packet(FROM, TO_TWO)
    assert impose(packet, b"") == packet


def test_explanations_name_the_labels():
    assert GOLDEN.explain(TO_TWO) == "21.0.0.2 goes out by p1 via 10.1.0.2, below labels 16 17"
    text = GOLDEN.ipv6.explain(a("2001:db8:11::1"))
    assert text == "2001:db8:11::1 goes out by p0 via fe80::9, below labels 24 2"


@pytest.mark.parametrize(
    ("route", "why"),
    [
        ({"push": [16]}, "push"),
        ({"push": [16], "port": "p"}, "needs via: their next hop"),
        ({"push": [16], "kind": "prohibit"}, "pushes nothing"),
        ({"push": [15], "via": "NEXT"}, "outgoing label must be 16 to 1048575"),
        ({"push": [3], "via": "NEXT"}, "outgoing label must be"),
        ({"push": [1 << 20], "via": "NEXT"}, "outgoing label must be"),
        ({"push": [16, -1], "via": "NEXT"}, "outgoing label must be"),
        ({"push": [16, "OTHER"], "via": "NEXT"}, "explicit null at the bottom must be"),
        ({"push": [16] * 360, "via": "NEXT"}, r"360 labels leave 60 bytes of the link's MTU of 1500"),
        ({"ttl": "pipe", "via": "NEXT"}, "push is missing"),
    ],
)
@pytest.mark.parametrize(("prefix", "hop", "null"), [("20.0.0.0/8", "10.0.0.2", 2), ("2002::/16", "2001:db8::2", 0)])
def test_wrong_routes_are_refused_with_their_place(route, why, prefix, hop, null):
    route = {key: hop if value == "NEXT" else value for key, value in route.items()}
    if "push" in route:
        route["push"] = [null if label == "OTHER" else label for label in route["push"]]
    why = "needs via or port" if route == {"push": [16]} else why
    with pytest.raises(InputError, match=r"route\[0\]: .*" + why):
        resolve_router(RouterFile(port=[PORT], route=[RouteRecord(prefix=prefix, **route)]))


def test_ipv6_keeps_its_smallest_mtu_below_the_labels():
    port = msgspec.structs.replace(PORT, mtu=1288)
    for labels, right in (([16, 17], True), ([16, 17, 18], False)):
        record = RouterFile(port=[port], route=[RouteRecord(prefix="2002::/16", via="2001:db8::2", push=labels)])
        if right:
            assert len(resolve_router(record).six.routes[1].stack) == 8
        else:
            with pytest.raises(
                InputError, match="3 labels leave 1276 bytes of the link's MTU of 1288, needed are 1280"
            ):
                resolve_router(record)


def test_a_file_of_routes_may_push(tmp_path):
    routes = tmp_path / "routes.txt"
    config = tmp_path / "router.toml"
    config.write_text(
        '[[port]]\nname = "p"\naddress = "10.0.0.1/24"\nmac = "02:00:00:00:00:01"\npeer_mac = "02:00:00:00:00:02"\n'
        '[routes]\nfile = "routes.txt"\n'
    )
    routes.write_text(
        "20.0.0.0/8 via 10.0.0.2 push 16/17\n21.0.0.0/8 via 10.0.0.2\n22.0.0.0/8 via 10.0.0.3 push 16/17\n"
    )
    router = load_router(config)
    assert (router.routes.stack.tolist(), router.stacks) == ([0, 1, 0, 1], (b"", prepared_stack([16, 17])))
    for wrong, why in (("push 16/x", "labels to push must be numbers"), ("push 16/3", "outgoing label must be")):
        routes.write_text(f"20.0.0.0/8 via 10.0.0.2 {wrong}\n")
        with pytest.raises(InputError, match=r"routes.txt:1: " + why):
            load_router(config)
