"""IPv6 and labels in ROUTER.toml: what is resolved, and what is refused with its place."""

import msgspec
import pytest
from reference.router_cases6 import MIXED, named_cases6
from reference.setting_cases import OTHER_LABELS, label_cases

from npexplore.errors import InputError, UnknownNameError
from npexplore.golden.compare.difference import first_difference
from npexplore.golden.ipv6.addresses import address_number, address_text
from npexplore.golden.mpls.switch import HERE, LabelEntry
from npexplore.golden.router.configuration import load_router, resolve_router
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.ports import link_local
from npexplore.golden.router.records import LabelRecord, NeighbourRecord, PortRecord, RouteRecord, RouterFile

PORT = PortRecord(
    name="p", address="10.0.0.1/24", address6="2001:db8::1/64", mac="02:00:00:00:00:01", peer_mac="02:00:00:00:00:02"
)
OTHER = msgspec.structs.replace(PORT, name="q", address="10.1.0.1/24", address6=None)


def router(port=PORT, **more):
    return resolve_router(RouterFile(port=[port, OTHER], **more))


def test_a_port_has_a_link_local_address_of_its_mac():
    assert address_text(link_local(bytes.fromhex("3456789abcde"))) == "fe80::3656:78ff:fe9a:bcde"
    assert address_text(router().six.ports[0].link_local) == "fe80::ff:fe00:1"
    assert router().six.ports[1] is None


def test_the_example_has_all_three():
    found = load_router("multiservice")
    golden = Forwarder(found, lookup="binary_trie")
    assert golden.ipv6.explain(address_number("2001:db8:a::1")) == "2001:db8:a::1 goes out by left via 2001:db8:0:2::9"
    assert golden.ipv6.explain(address_number("2001:db8:0:3::7")) == "2001:db8:0:3::7 goes out by right, on its link"
    assert len(found.labels.entries) == 4


def test_explanations():
    six = Forwarder(resolve_router(MIXED), lookup="binary_trie").ipv6
    assert six.explain(address_number("2002::1")) == "2002::1 has no route"
    assert six.explain(address_number("2001:db8:d::1")) == "2001:db8:d::1 is in a route of kind blackhole"


def test_without_ipv6_and_labels_there_is_neither():
    found = resolve_router(RouterFile(port=[OTHER]))
    assert (found.six, found.labels) == (None, None)


def test_labels_go_to_next_hops_of_both_families():
    found = router(
        neighbour=[
            NeighbourRecord(address="10.0.0.9", mac="02:00:00:00:00:09"),
            NeighbourRecord(address="2001:db8::9", mac="02:00:00:00:00:0a"),
        ],
        label=[
            LabelRecord(label=16, labels=[17], via="10.0.0.9"),
            LabelRecord(label=17, via="2001:db8::9"),
            LabelRecord(label=18, port="q", ttl="pipe"),
            LabelRecord(label=19),
        ],
    ).labels
    peer = bytes([2, 0, 0, 0, 0, 2])
    assert found.entries == (
        LabelEntry((17,), 0, bytes([2, 0, 0, 0, 0, 9])),
        LabelEntry((), 0, bytes([2, 0, 0, 0, 0, 10])),
        LabelEntry((), 1, peer, uniform=False),
        LabelEntry((), HERE),
    )


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"address6": "2001:db8::1"}, "must be like 2001:db8::1/64"),
        ({"address6": "2001:db8::x/64"}, "must be IPv6"),
        ({"address6": "2001:db8::/64"}, "that of a node"),
        ({"address6": "fe80::1/64"}, "that of a node"),
        ({"address6": "ff02::1/64"}, "that of a node"),
        ({"mtu": 1279}, "mtu of at least 1280"),
    ],
)
def test_wrong_ports_are_refused(change, why):
    with pytest.raises(InputError, match=r"port\[0\] 'p': .*" + why):
        router(msgspec.structs.replace(PORT, **change))


def test_networks_must_not_overlap():
    with pytest.raises(InputError, match="overlaps"):
        resolve_router(RouterFile(port=[PORT, msgspec.structs.replace(OTHER, address6="2001:db8::2/48")]))


@pytest.mark.parametrize(
    ("route", "why"),
    [
        ({"prefix": "2001:db8::1/64", "port": "p"}, "below its length"),
        ({"prefix": "::/0"}, "needs via or port"),
        ({"prefix": "::/0", "port": "q"}, "has no address6"),
        ({"prefix": "::/0", "via": "2001:db9::1"}, "on no link"),
        ({"prefix": "::/0", "via": "2001:db8::9", "port": "q"}, "on no link"),
        ({"prefix": "::/0", "via": "2001:db8::1"}, "the router itself"),
        ({"prefix": "::/0", "via": "10.0.0.9"}, "must be IPv6"),
        ({"prefix": "::/0", "via": "fe80::9"}, "needs a port"),
        ({"prefix": "::/0", "via": "fe80::9", "port": "q"}, "needs a port"),
        ({"prefix": "::/0", "kind": "prohibit", "port": "p"}, "neither via nor port"),
    ],
)
def test_wrong_routes_are_refused(route, why):
    with pytest.raises(InputError, match=r"route\[0\]: .*" + why):
        router(route=[RouteRecord(**route)])


@pytest.mark.parametrize(
    ("label", "why"),
    [
        ({"label": 3}, "16 to"),
        ({"label": 16, "labels": [1 << 20], "port": "p"}, "16 to"),
        ({"label": 16, "labels": [17]}, "by a port"),
        ({"label": 16, "via": "10.0.0.1"}, "the router itself"),
        ({"label": 16, "via": "10.0.0.255"}, "no host's"),
        ({"label": 16, "via": "11.0.0.1"}, "on no link"),
        ({"label": 16, "via": "10.0.0.9", "port": "q"}, "on no link"),
        ({"label": 16, "via": "10.0.0"}, "must be IPv4"),
        ({"label": 16, "via": "2001:db9::1"}, "on no link"),
    ],
)
def test_wrong_labels_are_refused(label, why):
    with pytest.raises(InputError, match=rf"label\[0\] {label['label']}: .*" + why):
        router(label=[LabelRecord(**label)])


def test_a_label_stands_once_and_its_port_is_known():
    with pytest.raises(InputError, match="has an entry already"):
        router(label=[LabelRecord(label=16), LabelRecord(label=16)])
    with pytest.raises(UnknownNameError, match=r"known: p, q"):
        router(label=[LabelRecord(label=16, port="r")])


def test_neighbours_are_on_a_link():
    with pytest.raises(InputError, match="on the link of a port"):
        router(neighbour=[NeighbourRecord(address="2001:db9::1", mac="02:00:00:00:00:09")])


@pytest.mark.parametrize(
    ("addresses", "why"),
    [
        (["2001:db8::1"], r"neighbour\[0\]: address 2001:db8::1 is the router itself"),
        (["2001:db8::"], "is the router itself"),  # whoever routes on the link
        (["2001:db8::9", "2001:db8::9"], r"neighbour\[1\]: 2001:db8::9 has a MAC address already"),
    ],
)
def test_neighbours_are_others_and_named_once(addresses, why):
    with pytest.raises(InputError, match=why):
        router(neighbour=[NeighbourRecord(address=address, mac="02:00:00:00:00:09") for address in addresses])


def test_a_link_of_two_addresses_has_two_nodes():
    port = msgspec.structs.replace(PORT, address6="2001:db8::1/127")
    assert router(port, route=[RouteRecord(prefix="::/0", via="2001:db8::")]).six.routes[1].via == 0x20010DB8 << 96


DIFFERENCES = [
    ("plain", 7, "hop limit", "RFC 8200 section 3"),
    ("plain", 39, "IPv6 destination", "RFC 8200 section 3"),
    ("hop limit 1", 47, "IPv6 payload", "RFC 4443 section 2.1"),
    ("swap", 3, "label stack", "RFC 3032 section 2.1, RFC 3443 section 3"),
    ("swap", 11, "below the labels", "RFC 3032 section 2.4, RFC 3443 section 3"),
]


@pytest.mark.parametrize(("name", "at", "field", "clause"), DIFFERENCES)
def test_another_routers_frame_differs_by_field_and_clause(name, at, field, clause):
    golden = Forwarder(resolve_router(MIXED), lookup="binary_trie")
    port, frame = next(case[1:3] for case in named_cases6() if case[0] == name)
    sent = golden.forward(port, frame).sent
    assert first_difference(sent, [(one.port, one.frame) for one in sent]) is None
    changed = [
        (one.port, one.frame[: 14 + at] + bytes([one.frame[14 + at] ^ 1]) + one.frame[15 + at :]) for one in sent
    ]
    found = first_difference(sent, changed)
    assert (found.field, found.clause) == (field, clause)
    assert first_difference(sent, []).got == "none"


@pytest.mark.parametrize(("record", "port", "frame"), [pytest.param(*row[1:], id=row[0][-7:]) for row in label_cases()])
def test_errors_of_linux_have_an_address_with_the_senders_label(record, port, frame):
    """RFC 6724 section 5: rule 6 stands before rule 8, by which the address with more common bits would be taken."""
    (sent,) = Forwarder(resolve_router(record), lookup="binary_trie").forward(port, frame).sent
    own, sender = (int.from_bytes(sent.frame[at : at + 16], "big") for at in (22, 38))
    assert address_text(own) == "2001:db8:0:9::1"
    closer = address_number(OTHER_LABELS[address_text(sender)])
    assert (closer ^ sender).bit_length() < (own ^ sender).bit_length()
