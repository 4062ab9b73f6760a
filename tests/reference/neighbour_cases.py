"""A sequence of frames for a router that asks for its neighbours: questions, answers, packets that wait.

One after the other they go to one router; a frame of no octets lets time pass, until who waited in vain is told.
"""

from ipaddress import ip_address

import msgspec
from reference.kernel_routers import arp_frame, discovery_frame
from reference.setting_cases import BASE, ECHO, framed, v4, v6

from npexplore.golden.ipv4.addresses import address_number as four
from npexplore.golden.ipv4.arp import REPLY, REQUEST, Arp
from npexplore.golden.ipv6.addresses import address_number as six
from npexplore.golden.ipv6.discovery import (
    ADVERTISEMENT,
    OVERRIDE,
    SOLICITATION,
    SOLICITED,
    Message,
    solicited_node,
)  # fmt: skip
from npexplore.golden.router.configuration import resolve_router
from npexplore.golden.router.policy import Policy
from npexplore.golden.router.records import NeighbourRecord

LISTED = NeighbourRecord(address="2001:db8::44", mac="02:00:00:00:09:44")
RECORD = msgspec.structs.replace(BASE, policy=Policy(answers=True, neighbours="resolve"), neighbour=[LISTED])
ROUTER = resolve_router(RECORD)
MACS = [bytes([2, 0, 0, 0, 9, k]) for k in range(9)]
BOTH = SOLICITED | OVERRIDE


def arp(operation, port, mac, sender, target, to=None, target_mac=bytes(6)):
    """Return a message of ARP to a port."""
    to = to or (b"\xff" * 6 if operation == REQUEST else ROUTER.ports[port].mac)
    return port, arp_frame(to, Arp(operation, mac, four(sender), four(target), target_mac))


def node(address):
    """Return the address by which another one is asked for."""
    return str(ip_address(solicited_node(six(address))))


def nd(kind, port, mac, source, destination, target, flags=0, tell=True):
    """Return a message of neighbour discovery to a port; tell: with the sender's MAC address."""
    message = Message(kind, six(source), six(destination), six(target), mac if tell else b"", flags)
    return port, discovery_frame(ROUTER.ports[port].mac, mac, message)


def passing(source="10.3.0.1", destination="20.0.0.1", payload=b"", port=0, **fields):
    """Return a packet of IPv4 in a frame to a port."""
    return port, framed(v4(source, destination, payload, **fields), port)


def passing6(source="2001:db8::9", destination="2001:db8:a::1", payload=b"", **fields):
    """Return a packet of IPv6 in a frame to port 0."""
    return 0, framed(v6(source, destination, payload, **fields))


ANSWER6 = ADVERTISEMENT, 1, MACS[5], "2001:db8:1::2", "2001:db8:1::1", "2001:db8:1::2"
OTHER6 = ADVERTISEMENT, 1, MACS[6], "2001:db8:1::2", "2001:db8:1::1", "2001:db8:1::2"
ASKING6 = SOLICITATION, 0, MACS[5], "2001:db8::33"
SEQUENCE = {
    "first packet asks": passing(),
    "second waits": passing("10.3.0.2"),
    "pieces wait": passing("10.3.0.3", payload=bytes(3000)),
    "answer": arp(REPLY, 1, MACS[0], "11.0.0.2", "11.0.0.1"),
    "known": passing(),
    "another answer at once": arp(REPLY, 1, MACS[1], "11.0.0.2", "11.0.0.1"),
    "the first one counts": passing(),
    "its neighbour asks": arp(REQUEST, 1, MACS[2], "11.0.0.2", "11.0.0.1"),
    "who asks is believed": passing(),
    "an answer about itself, that names no station": arp(REPLY, 1, MACS[3], "11.0.0.2", "11.0.0.2"),
    "names none: the one before counts": passing(),
    "an answer about itself, that names its own": arp(REPLY, 1, MACS[4], "11.0.0.2", "11.0.0.2", target_mac=MACS[4]),
    "who announces itself is believed": passing(),
    "its neighbour announces itself": arp(REQUEST, 1, MACS[2], "11.0.0.2", "11.0.0.2"),
    "and so is who does by a question": passing(),
    "a question about another": arp(REQUEST, 1, MACS[5], "11.0.0.2", "11.0.0.66"),
    "is no announcement": passing(),
    "a stranger announces itself": arp(REQUEST, 1, MACS[5], "11.0.0.67", "11.0.0.67"),
    "a stranger is not learnt": passing(destination="11.0.0.67"),
    "asked for another port's address": arp(REQUEST, 0, MACS[3], "10.0.0.77", "11.0.0.1"),
    "asked for a further address": arp(REQUEST, 0, MACS[3], "10.0.0.78", "10.9.0.1"),
    "asked for a stranger": arp(REQUEST, 0, MACS[3], "10.0.0.78", "10.0.0.99"),
    "probe": arp(REQUEST, 0, MACS[3], "0.0.0.0", "10.0.0.1"),
    "asked by our own address": arp(REQUEST, 0, MACS[3], "11.0.0.1", "10.0.0.1"),
    "asked by a broadcast": arp(REQUEST, 0, MACS[3], "10.0.0.255", "10.0.0.1"),
    "asked by the loopback": arp(REQUEST, 0, MACS[3], "127.0.0.1", "10.0.0.1"),
    "asked for a multicast": arp(REQUEST, 0, MACS[3], "10.0.0.79", "224.0.0.1"),
    "asked from elsewhere": arp(REQUEST, 0, MACS[3], "77.0.0.79", "10.0.0.1"),
    "asked alone": arp(REQUEST, 0, MACS[3], "10.0.0.80", "10.0.0.1", to=ROUTER.ports[0].mac),
    "asked another station": arp(REQUEST, 0, MACS[3], "10.0.0.80", "10.0.0.1", to=MACS[8]),
    "neither question nor answer": arp(3, 0, MACS[3], "10.0.0.81", "10.0.0.1"),
    "cut": (0, arp(REQUEST, 0, MACS[3], "10.0.0.81", "10.0.0.1")[1][:40]),
    "padded": (0, arp(REQUEST, 0, MACS[3], "10.0.0.82", "10.0.0.1")[1] + bytes(18)),
    "learnt from a question": passing("11.0.0.9", "10.0.0.77", port=1),
    "error asks by its source": passing("10.0.0.90", ttl=1),
    "error leaves": arp(REPLY, 0, MACS[4], "10.0.0.90", "10.0.0.1"),
    "reply asks by its source": passing("10.9.0.91", "10.0.0.1", ECHO, protocol=1),
    "reply leaves": arp(REPLY, 0, MACS[4], "10.9.0.91", "10.0.0.1"),
    "answer that nobody wanted": arp(REPLY, 0, MACS[4], "10.9.0.92", "10.0.0.1"),
    "is not believed": passing("11.0.0.9", "10.9.0.92", port=1),
    "IPv6: first packet asks": passing6(),
    "IPv6: second waits": passing6(destination="2001:db8:a::2"),
    "IPv6: answer": nd(*ANSWER6, BOTH),
    "IPv6: known": passing6(),
    "IPv6: another answer, no override": nd(*OTHER6, SOLICITED),
    "IPv6: the first one counts": passing6(),
    "IPv6: override": nd(*OTHER6, OVERRIDE),
    "IPv6: the other one counts": passing6(),
    "IPv6: answer to all": nd(ADVERTISEMENT, 1, MACS[5], "2001:db8:1::2", "ff02::1", "2001:db8:1::2", BOTH),
    "IPv6: asked": nd(*ASKING6, node("2001:db8::1"), "2001:db8::1"),
    "IPv6: asked alone": nd(*ASKING6, "2001:db8::1", "2001:db8::1"),
    "IPv6: asked alone by a stranger": nd(
        SOLICITATION, 0, MACS[5], "2001:db8::34", "2001:db8::1", "2001:db8::1", tell=False
    ),
    "IPv6: who is told": nd(ADVERTISEMENT, 0, MACS[7], "2001:db8::34", "2001:db8::1", "2001:db8::34", BOTH),
    "IPv6: asked by a stranger": nd(
        SOLICITATION, 0, MACS[5], "2001:db8::35", node("2001:db8::1"), "2001:db8::1", tell=False
    ),
    "IPv6: asked by one that is listed": nd(
        SOLICITATION, 0, MACS[5], LISTED.address, node("2001:db8::1"), "2001:db8::1", tell=False
    ),
    "IPv6: asked by one listed on another link": nd(
        SOLICITATION, 1, MACS[5], LISTED.address, node("2001:db8:1::1"), "2001:db8:1::1", tell=False
    ),
    "IPv6: asked for a stranger": nd(*ASKING6, node("2001:db8::1"), "2001:db8::77"),
    "IPv6: asked by all nodes": nd(*ASKING6, "ff02::1", "2001:db8::1"),
    "IPv6: asked for another port's address": nd(*ASKING6, node("2001:db8:1::1"), "2001:db8:1::1"),
    "IPv6: asked for a further address": nd(*ASKING6, node("2001:db8:0:9::1"), "2001:db8:0:9::1"),
    "IPv6: asked for the link-local address": nd(
        SOLICITATION, 0, MACS[5], "fe80::33", node("fe80::ff:fe00:0"), "fe80::ff:fe00:0"
    ),
    "IPv6: probe": nd(SOLICITATION, 0, MACS[5], "::", node("2001:db8::1"), "2001:db8::1", tell=False),
    "IPv6: probe with a MAC address": nd(SOLICITATION, 0, MACS[5], "::", node("2001:db8::1"), "2001:db8::1"),
    "IPv6: error asks by its source": passing6("2001:db8::77", hop_limit=1),
    "IPv6: error leaves": nd(ADVERTISEMENT, 0, MACS[7], "2001:db8::77", "2001:db8::1", "2001:db8::77", BOTH),
    "IPv6: redirect to who is unknown": passing6("2001:db8::33", "2001:db8:b::1"),
    "IPv6: redirected packet leaves": nd(ADVERTISEMENT, 0, MACS[8], "fe80::2", "fe80::ff:fe00:0", "fe80::2", BOTH),
    "nobody there": passing("10.0.0.77", "12.0.0.3", options=b"\x07\x07\4" + bytes(5)),
    "nobody there, pieces": passing("10.0.0.78", "22.0.0.3", bytes(3000)),
    "nobody there, error": passing("10.0.0.82", "12.0.0.3", b"\x03" + bytes(30), protocol=1),
    "IPv6: nobody there": passing6("2001:db8::33", "2001:db8:2::5", bytes(1200)),
    "IPv6: nobody there, error": passing6("2001:db8::34", "2001:db8:2::5", b"\x03" + bytes(30), next_header=58),
    "who waited is told": (0, b""),
    "asked anew": passing("10.0.0.77", "12.0.0.3"),
}


def neighbour_cases():
    """Return the router and the sequence: (name, port, frame)."""
    return ROUTER, [(name, port, frame) for name, (port, frame) in SEQUENCE.items()]
