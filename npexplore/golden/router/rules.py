"""The form of a profile: for each family its stages in order, and the messages about dropped packets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from npexplore.golden.ipv4.header import Header
from npexplore.golden.ipv6.header import Header6
from npexplore.golden.reasons import Reason
from npexplore.golden.router.frames import Decided, Frames, Heads, Messages
from npexplore.golden.router.sides import Side, Side4, Side6
from npexplore.golden.router.walk import H, Walk

S = TypeVar("S", bound=Side, contravariant=True)


def _by_reference(_side: Side, _path: Heads) -> Callable[[Frames, Decided], Messages | None]:
    return lambda _frames, _decided: None


@dataclass(frozen=True)
class Stage(Generic[S, H]):
    """One step: `run` returns the reason for dropping the packet, or Reason.NONE to go on."""

    name: str
    clause: str
    reads: tuple[str, ...]
    exits: tuple[Reason, ...]
    run: Callable[[S, Walk[H]], Reason]


@dataclass(frozen=True)
class Rules(Generic[S, H]):
    """The stages of a family, the messages about dropped packets (`tell`), and the facts that the batch form needs.

    martians: the name of the martian list of the IPv4 stages. many_first: multicast and limited broadcast are checked
    before martians. any_sender: senders outside the link's network get redirects, too. whole_chain: the IPv6 stages
    read all extension headers. answers(side, port, sender, target): whether an ARP request is answered; None: if the
    target is an address of the link. as_sent: an error about a packet without resolved next hop quotes the outgoing
    packet. many_told: makes the batch form of the messages from a side and frame headers; default: the reference.
    """

    stages: tuple[Stage[S, H], ...]
    tell: Callable[[S, Walk[H], Reason], None]
    martians: str = "rfc1812"
    many_first: bool = False
    any_sender: bool = False
    whole_chain: bool = False
    many_told: Callable[[S, Heads], Callable[[Frames, Decided], Messages | None]] = _by_reference
    answers: Callable[[S, int, int, int], bool] | None = None
    as_sent: bool = False


Rules4 = Rules[Side4, Header[int]]
Rules6 = Rules[Side6, Header6[int]]


class Profile(NamedTuple):
    """The rules that a router follows, for both families. switches: whether it has the switches of Policy."""

    name: str
    ipv4: Rules4
    ipv6: Rules6
    switches: bool = True
