"""Members that queueing does not see as they are chosen: it takes them as alike and drawn at random for each packet.

Where a resource alone is measured to be within 5 % all the same, queueing answers; elsewhere simulation does.

    in turn    exact where chance decides nothing (solve/event_graph.py), and at a crossing; else 10 to 300 % off
    hot        one member is preferred: 7 to 440 % off, but at a switch of the same words for all
    random     held against theory for banks, crossings, servers and channels behind arrivals, and requesters of an
               arbiter; closed, constant times at members drawn are 6 to 59 % off, DRAM's banks and ports of networks
               12 to 1,500 %
"""

from __future__ import annotations

from collections.abc import Mapping

from npexplore.machine.described.defaults import MEMBERS
from npexplore.machine.described.steps import DRAWN
from npexplore.machine.resources import Arbiter, BankedMemory, FifoServer, StaticStreams, TokenChannel
from npexplore.machine.resources.base import OperandValue
from npexplore.solve.prediction import Prediction
from npexplore.study.laboratory.lone import LoneResource

HASHED = "hashed"  # the column of a capture's packets that chooses a member
EXACT = "deterministic event graph"
CLOSED = {BankedMemory: ("bank",), Arbiter: ("requester",)}  # operands that may be drawn at random, by kind
OPEN = {**CLOSED, FifoServer: ("member",), TokenChannel: ("member",), Arbiter: ("requester", "member")}


def unseen_members(
    lone: LoneResource, operands: Mapping[str, OperandValue], answer: Prediction, closed: bool
) -> str | None:
    """Return why a queueing answer does not hold for the members that packets choose; None where it does.

    operands: of the visit, in which a capture has a column in place of what is drawn. closed: whether threads always
    have a packet, or packets come at a rate.
    """
    for operand, value in operands.items():
        if value == f"packet.{HASHED}" and not _alone(lone, operand):
            return (
                f"queueing: packets choose their {operand} by the destination, in the order of the capture, of which "
                "queueing sees the shares alone; use simulation"
            )
    known = (CLOSED if closed else OPEN).get(type(lone.resource), ())
    network = lone.resource if isinstance(lone.resource, StaticStreams) else None
    for operand, value in lone.operands.items():
        how = str(value).partition(":")[0]
        if how not in DRAWN or (operand not in MEMBERS and operand != "path") or _alone(lone, operand):
            continue
        if network is not None and not (how == "hot" and network.change):
            continue
        if how == "round_robin" and EXACT in (answer.approximation or ""):
            continue
        if how == "random" and operand in known:
            continue
        chosen = {"hot": f"prefer one {operand} ({value})", "round_robin": f"choose each {operand} in turn"}
        said = chosen.get(how, f"draw their {operand}")
        return (
            f"queueing: packets {said}, and how they wait at such members of a {lone.kind} alone is not known within "
            "5 %; use simulation"
        )
    return None


def _alone(lone: LoneResource, operand: str) -> bool:
    """Say whether there is one member to choose."""
    numbers = {getattr(lone.resource, name, None) for name in MEMBERS.get(operand, ())}
    return numbers == {1}
