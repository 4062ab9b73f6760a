"""Neighbours found by address resolution (`neighbours = "resolve"`): known ones, waiting packets, and timeouts.

A packet for an address without a known MAC address waits (RFC 1122 section 2.3.2.2, RFC 4861 section 7.2.2) while the
router asks three times, a second apart; if nobody answers within another second, its sender is told. Messages are in
golden/ipv4/arp.py and golden/ipv6/discovery.py. Entries do not expire.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from npexplore.golden.ethernet import ETHERNET
from npexplore.golden.router.walk import Sent, Walk

SECOND = 1_000_000_000
ASKED, WAITING = 3, 101  # how often an address is asked for; how many packets wait for it (the kernel's unres_qlen)
UNKNOWN = 0x03  # the first octet of what stands for a MAC address that is not known yet: no station has an odd one
Place = tuple[int, int]  # port, address


class Waiting(NamedTuple):
    """A frame that waits, and the packet that caused it."""

    sent: Sent
    walk: Walk[Any]


@dataclass
class Entry:
    """A neighbour: its MAC address (empty: not known), when that was set, how often it was asked for, when next."""

    mac: bytes = b""
    set_ns: int = 0
    requests: int = 0
    next_ns: int = 0
    waiting: list[Waiting] = field(default_factory=list)


class Neighbours:
    """The neighbours of a family (4 or 6).

    ask(port, address, sent): the frame that asks for one, because of a frame to be sent. failed(waiting, time): what
    is sent about a frame that has waited in vain.
    """

    def __init__(
        self, family: int, ask: Callable[[int, int, Sent], Sent], failed: Callable[[Waiting, int], list[Sent]]
    ) -> None:
        self._unknown = bytes([UNKNOWN, family])
        self._ask, self._failed = ask, failed
        self.entries: dict[Place, Entry] = {}
        self._named: list[Place] = []
        self._names: dict[Place, bytes] = {}

    def mac(self, port: int, address: int) -> bytes:
        """Return a neighbour's MAC address, or what stands for it until it is known."""
        place = port, address
        entry = self.entries.get(place)
        if entry is not None and entry.mac:
            return entry.mac
        if place not in self._names:
            self._names[place] = self._unknown + len(self._named).to_bytes(4, "big")
            self._named.append(place)
        return self._names[place]

    def hold(self, sent: list[Sent], walk: Walk[Any], time_ns: int) -> list[Sent]:
        """Keep what waits for a MAC address; return the rest, and what asks for those addresses."""
        out = []
        for one in sent:
            if one.frame[:2] != self._unknown:
                out.append(one)
                continue
            place = self._named[int.from_bytes(one.frame[2:6], "big")]
            entry = self.entries.setdefault(place, Entry())
            entry.waiting = [*entry.waiting, Waiting(one, walk)][-WAITING:]
            if not entry.requests:
                out.append(self._asking(place, entry, time_ns))
        return out

    def _asking(self, place: Place, entry: Entry, time_ns: int) -> Sent:
        entry.requests, entry.next_ns = entry.requests + 1, time_ns + SECOND
        return self._ask(*place, entry.waiting[-1].sent)

    def learn(self, place: Place, mac: bytes, time_ns: int, *, override: bool, create: bool) -> list[Sent]:
        """Store a MAC address; return the packets that waited for it. create: also for a neighbour not yet known."""
        entry = self.entries.get(place)
        if entry is None and not create:
            return []
        entry = self.entries.setdefault(place, Entry())
        if not entry.mac or override:
            entry.mac, entry.set_ns = mac, time_ns
        waited, entry.waiting, entry.requests = entry.waiting, [], 0
        return [one.sent._replace(frame=entry.mac + one.sent.frame[6:]) for one in waited]

    def next_ns(self) -> int | None:
        """Return when something happens next if nothing comes, None: never."""
        return min((entry.next_ns for entry in self.entries.values() if entry.requests), default=None)

    def happen(self, time_ns: int) -> list[Sent]:
        """Do what is due at a time: ask again, or give up and tell who sent what waited."""
        out = []
        for place, entry in list(self.entries.items()):
            if not entry.requests or entry.next_ns > time_ns:
                continue
            if entry.requests < ASKED:
                out.append(self._asking(place, entry, time_ns))
                continue
            waited, entry.waiting, entry.requests = entry.waiting, [], 0
            for one in waited:
                if not one.sent.icmp:
                    out += self._failed(one, time_ns)
        return out


def packet_of(sent: Sent) -> bytes:
    """Return the packet in a frame that has neither tag nor labels."""
    return sent.frame[ETHERNET:]
