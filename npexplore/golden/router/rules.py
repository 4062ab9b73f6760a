"""What a profile is: for each family its stages in order, and what is sent about a packet that left at one."""

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
    """One step: `run` returns the reason to leave, or Reason.NONE to go on."""

    name: str
    clause: str
    reads: tuple[str, ...]
    exits: tuple[Reason, ...]
    run: Callable[[S, Walk[H]], Reason]


@dataclass(frozen=True)
class Rules(Generic[S, H]):
    """The stages of a family, what tells the sender why a packet left, and what the batch must know of them.

    martians: the name of the list that stages of IPv4 go by. many_first: they tell multicast and limited broadcast
    before martians. any_sender: one outside the link's network may be told of a better hop, too. whole_chain: stages of
    IPv6 look at all extension headers. answers(side, port, sender, target): whether a question of ARP is answered;
    None: by the link's addresses. as_sent: an error about a packet that waited in vain quotes it as it was to leave.
    many_told: makes of a side and its frames' heads what settles the messages of a batch; by itself the reference does.
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
    """The rules that a router follows, for both families. switches: whether Policy may be set."""

    name: str
    ipv4: Rules4
    ipv6: Rules6
    switches: bool = True
