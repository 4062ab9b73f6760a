"""Address resolution (`neighbours = "resolve"`): ARP (RFC 826) and neighbour discovery (RFC 4861 section 7).

The router answers requests for its own addresses, learns from requests and replies, sends requests for the addresses
that packets wait for, and sends ICMP errors if no answer comes. It does not answer for anycast addresses, for which
RFC 4861 section 7.2.7 requires a random delay.
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
LOCK = SECOND  # for this time, a further answer does not replace a MAC address just learned


class Resolution:
    """Address resolution of a router in both families; sets the `resolver` of its sides."""

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
        """Queue the frames of a walk that await resolution; return the reason, AWAITS_NEIGHBOUR if all of them wait."""
        packet_count = sum(not sent.icmp for sent in walk.sent)
        for resolver in self._resolvers:
            walk.sent = resolver.hold(walk.sent, walk, walk.time_ns)
        if reason or not packet_count or any(not sent.icmp for sent in walk.sent):
            return reason
        return Reason.AWAITS_NEIGHBOUR

    def next_ns(self) -> int | None:
        """Return the time in ns of the next request or timeout, None if none is due."""
        return min((due for resolver in self._resolvers if (due := resolver.next_ns()) is not None), default=None)

    def happen(self, time_ns: int) -> list[Sent]:
        """Send the requests and handle the timeouts that are due up to a time; return the frames sent."""
        out: list[Sent] = []
        while (due := self.next_ns()) is not None and due <= time_ns:
            out += [sent for resolver in self._resolvers for sent in resolver.happen(due)]
        return out

    def _ask4(self, port: int, address: int, sent: Sent) -> Sent:
        """Return the ARP request for an address that a frame needs."""
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
        """Process an ARP message: answer requests, learn the MAC addresses of requests and replies."""
        port, port_mac = walk.port, self._mac(walk.port)
        if walk.frame[:6] != port_mac and not walk.frame[0] & 1:
            return Reason.OTHER_STATION
        message, resolver = read_arp(walk.frame[ETHERNET:]), side.resolver
        if message is None or resolver is None:
            return Reason.ARP
        mac, sender, target = message.sender_mac, message.sender, message.target
        if target >> 28 == 0b1110 or target >> 24 == 127:
            return Reason.ARP
        answer = Arp(REPLY, port_mac, target, sender, mac)
        if not sender:  # RFC 5227 section 2.1.1: a probe
            if message.operation == REQUEST and target in side.own:
                walk.sent.append(self._arp(port, mac, answer))
            return Reason.ARP
        if message.operation == REQUEST and self._answers(side, port, sender, target):
            walk.sent += resolver.learn((port, sender), mac, walk.time_ns, override=True, create=True)
            walk.sent.append(self._arp(port, mac, answer))
            return Reason.ARP
        entry = resolver.entries.get((port, sender))
        lock_over = entry is not None and walk.time_ns > entry.set_ns + LOCK
        # gratuitous ARP, RFC 5227 section 3; a reply must repeat its sender's MAC address as the target's
        gratuitous = target == sender and (message.operation == REQUEST or message.target_mac == mac)
        walk.sent += resolver.learn((port, sender), mac, walk.time_ns, override=lock_over or gratuitous, create=False)
        return Reason.ARP

    def _answers(self, side: Side4, port: int, sender: int, target: int) -> bool:
        """Say whether the router answers an ARP request."""
        if self._profile.ipv4.answers is not None:
            return self._profile.ipv4.answers(side, port, sender, target)
        link = side.ports[port]
        return link is not None and target in link.own and link.on_link(sender)

    def _ask6(self, port: int, address: int, sent: Sent) -> Sent:
        """Return the neighbour solicitation for an address that a frame needs."""
        assert self._ipv6 is not None
        link, packet = self._ipv6.ports[port], packet_of(sent)
        assert link is not None
        source = int.from_bytes(packet[8:24], "big") if sent.frame[12:ETHERNET] == IPV6_TYPE else 0
        unicast_addresses = {*(address_of_port for address_of_port, _ in link.subnets), link.link_local}
        message = Message(
            SOLICITATION, source if source in unicast_addresses else link.link_local, solicited_node(address), address,
            self._mac(port),
        )  # fmt: skip
        return self._frame6(port, multicast_mac(message.destination), message)

    def _frame6(self, port: int, to: bytes, message: Message) -> Sent:
        return Sent(port, to + self._mac(port) + IPV6_TYPE + write_message(message), icmp=True)

    def _tell6(self, side: Side6, walk: Walk6, reason: Reason) -> None:
        """Process a neighbour discovery message; pass other packets to the profile's `tell`."""
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
        if message.target not in (*(address for address, _ in link.subnets), link.link_local):
            return
        to_multicast, source = address_kind(message.destination) is Kind.MULTICAST, message.source
        answer = Message(ADVERTISEMENT, message.target, source, message.target, self._mac(port), ROUTER | OVERRIDE)
        if not source:
            to_all_nodes = answer._replace(destination=ALL_NODES)
            walk.sent.append(self._frame6(port, multicast_mac(ALL_NODES), to_all_nodes))
            return
        if message.mac:
            walk.sent += resolver.learn((port, source), message.mac, walk.time_ns, override=True, create=True)
        elif to_multicast and (port, source) not in resolver.entries and (port, source) not in side.neighbours:
            return
        flags = ROUTER | SOLICITED | (OVERRIDE if to_multicast else 0)
        answer = answer._replace(flags=flags, mac=answer.mac if to_multicast else b"")
        walk.sent.append(self._frame6(port, side.mac_of(port, source), answer))

    def _reached(self, side: Side6, port: int, address: int) -> bool:
        """Say whether the port receives packets to an address: one of its own, or a multicast group that it joins."""
        link = side.ports[port]
        assert link is not None
        return address in (ALL_NODES, *link.own, *(solicited_node(port_address) for port_address in link.own))

    def _failed(self, waiting: Waiting, time_ns: int) -> list[Sent]:
        """Send an error about a packet whose next hop does not answer; it quotes the outgoing packet if `as_sent`."""
        sent, walk = waiting
        is_ipv6 = sent.frame[12:ETHERNET] == IPV6_TYPE
        side: Side | None = self._ipv6 if is_ipv6 else self._ipv4
        rules: Rules[Any, Any] = self._profile.ipv6 if is_ipv6 else self._profile.ipv4
        error_walk = replace(walk, sent=[], time_ns=time_ns)
        if rules.as_sent and side is not None and sent.frame[12:ETHERNET] == side.frame_type:
            error_walk.packet = packet_of(sent)
        rules.tell(side, error_walk, Reason.NO_NEIGHBOUR6 if is_ipv6 else Reason.NO_NEIGHBOUR)
        self.hold(error_walk, Reason.NO_NEIGHBOUR)
        return error_walk.sent


def _unasked(side: Side, walk: Walk[Any]) -> Reason:
    """Stand in for stages that `Resolution` implements."""
    return Reason.ARP


def _silent(side: Side, walk: Walk[Any], reason: Reason) -> None:
    """Send nothing: the ARP stage has answered."""


RESOLVING: Rules[Any, Any] = Rules(
    (
        Stage(
            "ARP", "RFC 826 section Packet Reception", ("frame", "port"), (Reason.OTHER_STATION, Reason.ARP), _unasked
        ),
        Stage("wait", "RFC 1122 section 2.3.2.2", ("hop",), (Reason.AWAITS_NEIGHBOUR,), _unasked),
    ),
    _silent,
)
