"""Address resolution (`neighbours = "resolve"`): ARP (RFC 826) and neighbour discovery (RFC 4861 section 7).

The router answers for its own addresses, learns from requests and replies, asks for addresses that packets wait for,
and sends errors if nobody answers. It does not answer for anycast addresses: RFC 4861 section 7.2.7 asks for a random
delay.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from npexplore.golden.ethernet import BROADCAST_MAC, ETHERNET, IPV6_TYPE
from npexplore.golden.ipv4.arp import REPLY, REQUEST, Arp, read_arp, write_arp
from npexplore.golden.ipv6.discovery import (
    ADVERTISEMENT,
    ALL_NODES,
    OVERRIDE,
    ROUTER,
    SOLICITATION,
    SOLICITED,
    Message,
    multicast_mac,
    read_message,
    solicited_node,
    write_message,
)
from npexplore.golden.ipv6.scope import Kind, address_kind
from npexplore.golden.reasons import Reason
from npexplore.golden.router.neighbours import SECOND, Neighbours, Waiting, packet_of
from npexplore.golden.router.rules import Profile, Rules, Stage
from npexplore.golden.router.sides import Side, Side4, Side6
from npexplore.golden.router.walk import Sent, Walk, Walk6

ARP_TYPE = b"\x08\x06"
LOCK = SECOND  # so long an answer does not change what another has just told


class Resolution:
    """What a router knows and asks of its neighbours, in both families; it gives its sides their `resolver`."""

    def __init__(self, profile: Profile, ipv4: Side4, ipv6: Side6 | None) -> None:
        self._profile, self._ipv4, self._ipv6 = profile, ipv4, ipv6
        ipv4.resolver = Neighbours(4, self._ask4, self._failed)
        if ipv6 is not None:
            ipv6.resolver = Neighbours(6, self._ask6, self._failed)
        self._resolvers = [side.resolver for side in (ipv4, ipv6) if side is not None and side.resolver is not None]
        stage = replace(RESOLVING.stages[0], run=self._hear4)
        self.arp: Rules[Any, Any] = replace(RESOLVING, stages=(stage,))
        self.ipv6 = replace(profile.ipv6, tell=self._tell6)

    def hold(self, walk: Walk[Any], reason: Reason) -> Reason:
        """Keep those frames of a walk back that wait; return its reason, which may be that."""
        before = sum(not sent.icmp for sent in walk.sent)
        for resolver in self._resolvers:
            walk.sent = resolver.hold(walk.sent, walk, walk.time_ns)
        if reason or not before or any(not sent.icmp for sent in walk.sent):
            return reason
        return Reason.AWAITS_NEIGHBOUR

    def next_ns(self) -> int | None:
        """Return when something happens next if nothing comes, None: never."""
        return min((due for one in self._resolvers if (due := one.next_ns()) is not None), default=None)

    def happen(self, time_ns: int) -> list[Sent]:
        """Do what is due up to a time; return what is sent."""
        out: list[Sent] = []
        while (due := self.next_ns()) is not None and due <= time_ns:
            out += [sent for one in self._resolvers for sent in one.happen(due)]
        return out

    def _ask4(self, port: int, address: int, sent: Sent) -> Sent:
        link, packet = self._ipv4.ports[port], packet_of(sent)
        assert link is not None
        source = int.from_bytes(packet[12:16], "big") if sent.frame[12:ETHERNET] == self._ipv4.frame_type else 0
        if source not in self._ipv4.own:
            source = link.source_towards(address)
        return self._arp(port, BROADCAST_MAC, Arp(REQUEST, self._mac(port), source, address))

    def _arp(self, port: int, to: bytes, message: Arp) -> Sent:
        return Sent(port, to + self._mac(port) + ARP_TYPE + write_arp(message), icmp=True)

    def _mac(self, port: int) -> bytes:
        return self._ipv4.router.ports[port].mac

    def _hear4(self, side: Side4, walk: Walk[Any]) -> Reason:
        """Take a message of ARP: answer what is asked, learn who asks and who answers."""
        port, own = walk.port, self._mac(walk.port)
        if walk.frame[:6] != own and not walk.frame[0] & 1:
            return Reason.OTHER_STATION
        message, resolver = read_arp(walk.frame[ETHERNET:]), side.resolver
        if message is None or resolver is None:
            return Reason.ARP
        mac, sender, target = message.sender_mac, message.sender, message.target
        if target >> 28 == 0b1110 or target >> 24 == 127:
            return Reason.ARP
        answer = Arp(REPLY, own, target, sender, mac)
        if not sender:  # RFC 5227 section 2.1.1: a probe
            if message.operation == REQUEST and target in side.own:
                walk.sent.append(self._arp(port, mac, answer))
            return Reason.ARP
        if message.operation == REQUEST and self._answers(side, port, sender, target):
            walk.sent += resolver.learn((port, sender), mac, walk.time_ns, override=True, create=True)
            walk.sent.append(self._arp(port, mac, answer))
            return Reason.ARP
        known = resolver.entries.get((port, sender))
        old = known is not None and walk.time_ns > known.set_ns + LOCK
        # RFC 5227 section 3 (in an answer with its own MAC address for the target's, too)
        announced = target == sender and (message.operation == REQUEST or message.target_mac == mac)
        walk.sent += resolver.learn((port, sender), mac, walk.time_ns, override=old or announced, create=False)
        return Reason.ARP

    def _answers(self, side: Side4, port: int, sender: int, target: int) -> bool:
        if self._profile.ipv4.answers is not None:
            return self._profile.ipv4.answers(side, port, sender, target)
        link = side.ports[port]
        return link is not None and target in link.own and link.on_link(sender)

    def _ask6(self, port: int, address: int, sent: Sent) -> Sent:
        assert self._ipv6 is not None
        link, packet = self._ipv6.ports[port], packet_of(sent)
        assert link is not None
        source = int.from_bytes(packet[8:24], "big") if sent.frame[12:ETHERNET] == IPV6_TYPE else 0
        singles = {*(own for own, _ in link.subnets), link.link_local}
        message = Message(
            SOLICITATION, source if source in singles else link.link_local, solicited_node(address), address,
            self._mac(port),
        )  # fmt: skip
        return self._frame6(port, multicast_mac(message.destination), message)

    def _frame6(self, port: int, to: bytes, message: Message) -> Sent:
        return Sent(port, to + self._mac(port) + IPV6_TYPE + write_message(message), icmp=True)

    def _tell6(self, side: Side6, walk: Walk6, reason: Reason) -> None:
        """Take a message of neighbour discovery; tell of all else what the profile tells."""
        message = read_message(walk.packet) if reason in (Reason.MULTICAST6, Reason.LOCAL_DELIVERY) else None
        if message is None:
            self._profile.ipv6.tell(side, walk, reason)
            return
        port, link, resolver = walk.port, side.ports[walk.port], side.resolver
        if link is None or resolver is None or not self._reached(side, port, message.destination):
            return
        if message.kind == ADVERTISEMENT:
            if message.mac:
                override = bool(message.flags & OVERRIDE)
                walk.sent += resolver.learn(
                    (port, message.target), message.mac, walk.time_ns, override=override, create=False
                )
            return
        if message.target not in (*(own for own, _ in link.subnets), link.link_local):
            return
        many, source = address_kind(message.destination) is Kind.MULTICAST, message.source
        answer = Message(ADVERTISEMENT, message.target, source, message.target, self._mac(port), ROUTER | OVERRIDE)
        if not source:
            everybody = answer._replace(destination=ALL_NODES)
            walk.sent.append(self._frame6(port, multicast_mac(ALL_NODES), everybody))
            return
        if message.mac:
            walk.sent += resolver.learn((port, source), message.mac, walk.time_ns, override=True, create=True)
        elif many and (port, source) not in resolver.entries and (port, source) not in side.neighbours:
            return
        flags = ROUTER | SOLICITED | (OVERRIDE if many else 0)
        answer = answer._replace(flags=flags, mac=answer.mac if many else b"")
        walk.sent.append(self._frame6(port, side.mac_of(port, source), answer))

    def _reached(self, side: Side6, port: int, address: int) -> bool:
        """Say whether a packet for an address comes to this port's node: its own ones, and the groups that it is in."""
        link = side.ports[port]
        assert link is not None
        return address in (ALL_NODES, *link.own, *(solicited_node(own) for own in link.own))

    def _failed(self, waiting: Waiting, time_ns: int) -> list[Sent]:
        """Tell the sender of a packet that its next hop does not answer; `as_sent`: about what was to leave."""
        sent, walk = waiting
        six = sent.frame[12:ETHERNET] == IPV6_TYPE
        side: Side | None = self._ipv6 if six else self._ipv4
        rules: Rules[Any, Any] = self._profile.ipv6 if six else self._profile.ipv4
        again = replace(walk, sent=[], time_ns=time_ns)
        if rules.as_sent and side is not None and sent.frame[12:ETHERNET] == side.frame_type:
            again.packet = packet_of(sent)
        rules.tell(side, again, Reason.NO_NEIGHBOUR6 if six else Reason.NO_NEIGHBOUR)
        self.hold(again, Reason.NO_NEIGHBOUR)
        return again.sent


def _unasked(side: Side, walk: Walk[Any]) -> Reason:
    return Reason.ARP


def _silent(side: Side, walk: Walk[Any], reason: Reason) -> None:
    """Say nothing: messages of ARP were answered where they were heard."""


RESOLVING: Rules[Any, Any] = Rules(
    (
        Stage(
            "ARP", "RFC 826 section Packet Reception", ("frame", "port"), (Reason.OTHER_STATION, Reason.ARP), _unasked
        ),
        Stage("wait", "RFC 1122 section 2.3.2.2", ("hop",), (Reason.AWAITS_NEIGHBOUR,), _unasked),
    ),
    _silent,
)
