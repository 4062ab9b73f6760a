"""A packet's state as it passes the router's stages, and the outcome of its frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from npexplore.golden.ipv4.delivery import Destination
from npexplore.golden.ipv4.header import Header
from npexplore.golden.ipv6.header import Header6
from npexplore.golden.reasons import Reason
from npexplore.golden.router.routes import Hop

H = TypeVar("H", Header[int], Header6[int])


class Sent(NamedTuple):
    """A frame sent by a port: the packet itself, a fragment of it, or a message that the router generates."""

    port: int
    frame: bytes
    icmp: bool = False


class Outcome(NamedTuple):
    """The outcome of a frame: all frames sent, and the reason if the packet was not sent (NONE: it was sent)."""

    reason: Reason
    sent: tuple[Sent, ...]


@dataclass
class Walk(Generic[H]):
    """A packet and its state between stages, which fill it in. packet: its bytes, without padding of the link."""

    port: int
    frame: bytes
    time_ns: int
    read: Callable[[bytes], H]
    packet: bytes = b""
    link_broadcast: bool = False
    options: Any = None
    kind: Destination = Destination.ELSEWHERE
    hop: Hop | None = None
    target: int = 0  # the address it is sent to: the destination, or the next address of a source route
    follow: bool = False  # the router advances the source route
    redirect: bool = False
    pointer: int = 0  # offset of the wrong octet, for a Parameter Problem
    tell: bool = True  # whether an error about its options may be sent
    mtu: int = 0  # of the link that is too small, in bytes
    out: tuple[bytes, ...] = ()  # the packets to send
    exposed: bytes = b""  # a frame to decide anew, after its labels or tags are removed
    sent: list[Sent] = field(default_factory=list)
    _read: tuple[bytes, H] | None = None

    @property
    def header(self) -> H:
        """The header of `packet`; parsed again when `packet` changes."""
        if self._read is None or self._read[0] is not self.packet:
            self._read = self.packet, self.read(self.packet)
        return self._read[1]

    @property
    def next_hop(self) -> int:
        """The next hop's address: the route's, or the target on an attached link."""
        assert self.hop is not None
        return self.hop.via or self.target


Walk4 = Walk[Header[int]]
Walk6 = Walk[Header6[int]]
