"""The neighbour cache of address resolution (`neighbours = "resolve"`): entries, waiting packets, timeouts.

A packet to an address without a known MAC address waits (RFC 1122 section 2.3.2.2, RFC 4861 section 7.2.2) while the
router sends three requests, a second apart. Without an answer within another second, its sender gets an ICMP error.
golden/ipv4/arp.py and golden/ipv6/discovery.py have the message formats. Entries do not expire.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from npexplore.golden.ethernet import ETHERNET
from npexplore.golden.router.walk import Sent, Walk

SECOND = 1_000_000_000
ASKED, WAITING = 3, 101  # requests per address; packets that wait for an address (the kernel's unres_qlen)
UNKNOWN = 0x03  # first octet of the placeholder for an unknown MAC address; odd, so that no station has it
Place = tuple[int, int]  # port, address


class Waiting(NamedTuple):
    """A frame that waits for a MAC address, and the walk of the packet that caused it."""

    sent: Sent
    walk: Walk[Any]


@dataclass
class Entry:
    """A neighbour: MAC address (empty: unknown), time of its last change, requests sent, time of the next action."""

    mac: bytes = b""
    set_ns: int = 0
    requests: int = 0
    next_ns: int = 0
    waiting: list[Waiting] = field(default_factory=list)


class Neighbours:
    """The neighbour cache of a family (4 or 6).

    ask(port, address, sent): returns the request for an address that frame `sent` needs. failed(waiting, time):
    returns the messages about a frame whose next hop did not answer.
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
        """Return a neighbour's MAC address, or a placeholder (UNKNOWN, family, number) while it is unknown."""
        place = port, address
        entry = self.entries.get(place)
        if entry is not None and entry.mac:
            return entry.mac
        if place not in self._names:
            self._names[place] = self._unknown + len(self._named).to_bytes(4, "big")
            self._named.append(place)
        return self._names[place]

    def hold(self, sent: list[Sent], walk: Walk[Any], time_ns: int) -> list[Sent]:
        """Queue frames that need an unknown MAC address; return the other frames, and requests for these addresses."""
        out = []
        for frame_sent in sent:
            if frame_sent.frame[:2] != self._unknown:
                out.append(frame_sent)
                continue
            place = self._named[int.from_bytes(frame_sent.frame[2:6], "big")]
            entry = self.entries.setdefault(place, Entry())
            entry.waiting = [*entry.waiting, Waiting(frame_sent, walk)][-WAITING:]
            if not entry.requests:
                out.append(self._asking(place, entry, time_ns))
        return out

    def _asking(self, place: Place, entry: Entry, time_ns: int) -> Sent:
        entry.requests, entry.next_ns = entry.requests + 1, time_ns + SECOND
        return self._ask(*place, entry.waiting[-1].sent)

    def learn(self, place: Place, mac: bytes, time_ns: int, *, override: bool, create: bool) -> list[Sent]:
        """Store a MAC address; return the frames that waited for it. create: make an entry if there is none."""
        entry = self.entries.get(place)
        if entry is None and not create:
            return []
        entry = self.entries.setdefault(place, Entry())
        if not entry.mac or override:
            entry.mac, entry.set_ns = mac, time_ns
        waited, entry.waiting, entry.requests = entry.waiting, [], 0
        return [waiting.sent._replace(frame=entry.mac + waiting.sent.frame[6:]) for waiting in waited]

    def next_ns(self) -> int | None:
        """Return the time in ns of the next request or timeout, None if none is due."""
        return min((entry.next_ns for entry in self.entries.values() if entry.requests), default=None)

    def happen(self, time_ns: int) -> list[Sent]:
        """Do what is due at a time: repeat a request, or give up and send errors about the frames that waited."""
        out = []
        for place, entry in list(self.entries.items()):
            if not entry.requests or entry.next_ns > time_ns:
                continue
            if entry.requests < ASKED:
                out.append(self._asking(place, entry, time_ns))
                continue
            waited, entry.waiting, entry.requests = entry.waiting, [], 0
            for waiting in waited:
                if not waiting.sent.icmp:
                    out += self._failed(waiting, time_ns)
        return out


def packet_of(sent: Sent) -> bytes:
    """Return the packet in a frame that has neither tag nor labels."""
    return sent.frame[ETHERNET:]
