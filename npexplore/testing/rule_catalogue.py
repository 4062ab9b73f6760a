"""The rules that a frame tries, and the rule that a difference breaks; a rule is a clause and its requirement.

The subject of a rule is a reason to drop, a field of a forwarded packet or of the router's own message, that a frame is
sent, or that no other frame is sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from npexplore.golden.compare.difference import CLAUSES, FORWARDED, FRAME, SAME_WAY, Difference, fields, in_common
from npexplore.golden.compare.fields6 import CLAUSES6
from npexplore.golden.reasons import Reason, by_code
from npexplore.golden.router.configuration import Router
from npexplore.golden.router.walk import Outcome

ICMP_SENT = "RFC 1812 section 4.3.2"
NEXT_HOP = "RFC 1812 section 5.2.4.3"
LABEL_REASONS = range(Reason.LABEL_CUT, Reason.JUMBOGRAM)
SIX_REASONS = (*range(Reason.TOO_SHORT6, Reason.LABEL_CUT), Reason.JUMBOGRAM, Reason.JUMBO_WRONG)
STATEFUL = (Reason.ARP, Reason.AWAITS_NEIGHBOUR)  # depend on address resolution: not tried by single frames

WHOLE = ("length", "bytes")  # differences of frames whose fields are all equal


class Rule(NamedTuple):
    """A clause of a standard and its requirement."""

    clause: str
    subject: str


PASSES = Rule(FORWARDED, "what passes is sent")
NOTHING_ELSE = Rule(FORWARDED, "nothing else is sent")
ANSWERS = Rule(ICMP_SENT, "the router's message is sent")
ORDER = Rule("RFC 4737 section 3", "frames of a port keep their order")
BY_PORT = Rule(NEXT_HOP, "the port of the next hop")


def _field_rule(name: str, icmp: bool) -> Rule:
    return Rule(CLAUSES[name][icmp], f"{name} of {'a message of the router' if icmp else 'what passes'}")


def _reason_rule(reason: Reason) -> Rule:
    return Rule(reason.clause, f"dropped: {reason.text}")


def catalogue(router: Router) -> list[Rule]:
    """Return the rules that frames may try on a router, without the rules of families that it does not support."""
    left_out = {Reason.NONE, *STATEFUL}
    left_out |= set() if router.six else {by_code(code) for code in SIX_REASONS}
    left_out |= set() if router.labels else {by_code(code) for code in LABEL_REASONS}
    names = [name for name in CLAUSES if router.six or router.labels or name not in CLAUSES6]
    names = [name for name in names if name not in WHOLE]
    rules = [_reason_rule(reason) for reason in Reason if reason not in left_out]
    rules += [PASSES, BY_PORT, NOTHING_ELSE, *(_field_rule(name, False) for name in names)]
    return [*rules, ANSWERS, *(_field_rule(name, True) for name in names)]


def tried(outcome: Outcome) -> Iterator[Rule]:
    """Yield the rules that a frame tries, derived from its expected outcome."""
    yield NOTHING_ELSE
    if outcome.reason:
        yield _reason_rule(outcome.reason)
    for icmp in {sent.icmp for sent in outcome.sent}:
        yield from (ANSWERS,) if icmp else (PASSES, BY_PORT)
        values_of = {
            key: value for sent in outcome.sent if sent.icmp == icmp for key, value in fields(sent.frame).items()
        }
        yield from (_field_rule(name, icmp) for name in values_of if name != "options" or values_of[name] != "none")


def broken(difference: Difference, outcome: Outcome, sent: Sequence[tuple[int, bytes]]) -> tuple[Rule, str]:
    """Return the rule that a difference breaks, and a detail that distinguishes it from other failures of the rule.

    sent: all frames sent for the frame. A wrong field is the same fault in all outcomes; missing and additional frames
    are distinguished by the reason for which the packet was dropped.
    """
    if difference.field != FRAME:
        at_port = [expected for expected in outcome.sent if expected.port == difference.port]
        return _field_rule(difference.field, at_port[difference.frame].icmp), ""
    why = outcome.reason.text
    if outcome.reason and (not outcome.sent or difference.expected.startswith("none, for")):
        return _reason_rule(outcome.reason), "sent or answered all the same"
    if any(_elsewhere(outcome, port, frame) for port, frame in sent):
        return BY_PORT, "sent by another port"
    if difference.expected.startswith("none"):
        return NOTHING_ELSE, why
    missing = "nothing is sent" if not sent else "one is missing"
    return (ANSWERS if difference.clause == ICMP_SENT else PASSES), f"{missing}, {why}" if why else missing


def _elsewhere(outcome: Outcome, port: int, frame: bytes) -> bool:
    """Return whether a frame was expected at another port only, even if its content is wrong."""
    if any(expected.port == port for expected in outcome.sent):
        return False
    return any(in_common(frame, expected.frame) >= SAME_WAY for expected in outcome.sent if not expected.icmp)
