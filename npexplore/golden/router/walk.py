"""A packet's state on its way through the router's stages, and the outcome of its frame."""

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
    """A frame that leaves by a port: the packet itself (or a piece of it), or an ICMP message of the router."""

    port: int
    frame: bytes
    icmp: bool = False


class Outcome(NamedTuple):
    """The outcome of a frame: all frames sent, and the reason if the packet itself was not sent (NONE if it was)."""

    reason: Reason
    sent: tuple[Sent, ...]


@dataclass
class Walk(Generic[H]):
    """A packet and what is known of it; stages fill this in. `packet` are its bytes as they stand, without padding."""

    port: int
    frame: bytes
    time_ns: int
    read: Callable[[bytes], H]
    packet: bytes = b""
    link_broadcast: bool = False
    options: Any = None
    kind: Destination = Destination.ELSEWHERE
    hop: Hop | None = None
    target: int = 0  # where it goes next on its way: the destination, or the next address of a source route
    follow: bool = False  # a source route takes a step here
    redirect: bool = False
    pointer: int = 0  # the wrong octet, for a Parameter Problem
    tell: bool = True  # may a fault of its options be told?
    mtu: int = 0  # of the link that is too small
    out: tuple[bytes, ...] = ()  # the packets to send
    exposed: bytes = b""  # a frame to be decided anew: what came out below labels
    sent: list[Sent] = field(default_factory=list)
    _read: tuple[bytes, H] | None = None

    @property
    def header(self) -> H:
        """The header as it stands; read again when the packet is another one."""
        if self._read is None or self._read[0] is not self.packet:
            self._read = self.packet, self.read(self.packet)
        return self._read[1]

    @property
    def next_hop(self) -> int:
        """The address on the link that it is sent to."""
        assert self.hop is not None
        return self.hop.via or self.target


Walk4 = Walk[Header[int]]
Walk6 = Walk[Header6[int]]
