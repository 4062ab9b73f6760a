"""Refuses queueing answers for choices of members that the queueing model does not represent.

The model treats members as equal and chosen at random for each packet. It answers where the error of a resource alone
was measured to be within 5 %; elsewhere simulation is needed.

    in turn    exact without randomness (solve/event_graph.py), and at a crossing; otherwise errors of 10 to 300 %
    hot        one member is preferred: errors of 7 to 440 %, except at a switch with equal words for all paths
    random     tested against theory for banks, crossings, servers and channels with arrivals, and requesters of an
               arbiter; closed, with constant times, errors of 6 to 59 %; DRAM's banks, ports of networks 12 to 1,500 %
"""

from __future__ import annotations

from collections.abc import Mapping

from npexplore.machine.described.defaults import MEMBERS
from npexplore.machine.described.steps import DRAWN
from npexplore.machine.resources import Arbiter, BankedMemory, FifoServer, StaticStreams, TokenChannel
from npexplore.machine.resources.base import OperandValue
from npexplore.solve.prediction import Prediction
from npexplore.study.laboratory.lone import LoneResource

HASHED = "hashed"  # column of a capture's packets that chooses a member
EXACT = "deterministic event graph"
CLOSED = {BankedMemory: ("bank",), Arbiter: ("requester",)}  # operands that may be random, by kind
OPEN = {**CLOSED, FifoServer: ("member",), TokenChannel: ("member",), Arbiter: ("requester", "member")}


def unseen_members(
    lone: LoneResource, operands: Mapping[str, OperandValue], answer: Prediction, closed: bool
) -> str | None:
    """Return why a queueing answer is not valid for the packets' choice of members; None if it is valid.

    operands: the visit's operands, where a capture's column replaces a random choice. closed: whether threads always
    have a packet (False: packets arrive at a rate).
    """
    for operand, value in operands.items():
        if value == f"packet.{HASHED}" and not _alone(lone, operand):
            return (
                f"queueing: packets choose their {operand} by the destination, in the order of the capture, of which "
                "queueing sees the shares alone; use simulation"
            )
    random_operands = (CLOSED if closed else OPEN).get(type(lone.resource), ())
    network = lone.resource if isinstance(lone.resource, StaticStreams) else None
    for operand, value in lone.operands.items():
        choice_kind = str(value).partition(":")[0]
        if choice_kind not in DRAWN or (operand not in MEMBERS and operand != "path") or _alone(lone, operand):
            continue
        if network is not None and not (choice_kind == "hot" and network.change):
            continue
        if choice_kind == "round_robin" and EXACT in (answer.approximation or ""):
            continue
        if choice_kind == "random" and operand in random_operands:
            continue
        descriptions = {"hot": f"prefer one {operand} ({value})", "round_robin": f"choose each {operand} in turn"}
        choice = descriptions.get(choice_kind, f"draw their {operand}")
        return (
            f"queueing: packets {choice}, and how they wait at such members of a {lone.kind} alone is not known within "
            "5 %; use simulation"
        )
    return None


def _alone(lone: LoneResource, operand: str) -> bool:
    """Return whether there is only one member to choose."""
    numbers = {getattr(lone.resource, name, None) for name in MEMBERS.get(operand, ())}
    return numbers == {1}
