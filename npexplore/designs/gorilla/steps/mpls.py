"""The MPLS steps: extract, look up and modify a label, then repeat for the next label (Sec. 4.5, RFC 3031, 3032).

golden/mpls/switch.py processes a whole stack; these steps process it label by label, three steps each. Entropy labels,
which the paper does not mention, and stacks of more than DEEPEST labels go to the control processor: the first label's
step searches for the bottom of the stack, and hardware reads only a limited part of the packet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from npexplore.designs.gorilla.steps.outcome import KEEPS_FLOW, KEEPS_OUT, PORT_BITS, fail
from npexplore.golden.ethernet import IPV4_TYPE, IPV6_TYPE, MPLS_TYPE
from npexplore.golden.mpls.stack import (
    ENTROPY_INDICATOR,
    ENTRY,
    EXPLICIT_NULL4,
    EXPLICIT_NULL6,
    FIRST_FREE,
    ROUTER_ALERT,
    depth_within,
    label_at,
)
from npexplore.golden.mpls.stages import link_fault
from npexplore.golden.mpls.switch import HERE, NULL, is_ip, swapped, with_ttl
from npexplore.golden.reasons import Reason
from npexplore.machine.step_programs import Call, Context, Field, Kept, StepProgram

if TYPE_CHECKING:
    from npexplore.designs.gorilla.steps.box import Box

LABEL_BITS, IPV4 = 8 * ENTRY, 4
MOST_LABELS, MAC_BITS = 4, 48
DEEPEST = 8  # labels of the deepest stack that is processed; the paper's packets have up to four
KEEPS_LEFT = Kept("left", DEEPEST.bit_length())  # remaining labels of the stack; 0 before its depth is known
KEEPS_LABEL = (
    Kept("top.label", 20, region="packet"),
    Kept("top.traffic_class", 3, region="packet", first_bit=20),
    Kept("top.bottom", 1, region="packet", first_bit=23),
    Kept("top.ttl", 8, region="packet", first_bit=24),
    Kept("label", 20, region="packet"),
    Kept("ttl", 8), Kept("null", 1), Kept("looked_up", 1), Kept("handed", 8, missing=True), KEEPS_LEFT,
)  # fmt: skip
KEEPS_ENTRY = (
    Kept("entry.labels", 20 * MOST_LABELS, missing=True), Kept("entry.port", PORT_BITS),
    Kept("entry.mac", MAC_BITS), Kept("entry.uniform", 1),
)  # fmt: skip


def _extraction(program: StepProgram, box: Box) -> None:
    """Add the step that extracts a label."""

    @program.step(["label_entry"], goes=["mpls_lookup", "exception", "control"], keeps=KEEPS_LABEL)
    def mpls_extract(c: Context) -> str:
        if not c.left:  # the first label
            reason = link_fault(box.golden.router.ports[c.port].mac, c.frame)
            if reason:
                return fail(c, reason)
            reason, c.left = depth_within(c.packet, DEEPEST)
            if reason:
                return fail(c, reason)
            if not c.left:
                return "control"
            c.handed = None
        c.top = label_at(c.packet, 0)
        if c.top.label == ENTROPY_INDICATOR and not c.top.bottom:
            return "control"
        c.ttl = c.top.ttl if c.handed is None else c.handed
        c.label, c.null = c.top.label, c.top.label in (EXPLICIT_NULL4, EXPLICIT_NULL6)
        c.looked_up = not c.null
        if c.ttl <= 1:
            return fail(c, Reason.LABEL_TTL_EXPIRED)
        if c.label == ROUTER_ALERT and not c.top.bottom:
            return fail(c, Reason.LABEL_ALERT)
        if c.label < FIRST_FREE and not c.null:
            return fail(c, Reason.LABEL_RESERVED)
        return "mpls_lookup"


def mpls_steps(box: Box, counting: bool, below: Sequence[str] = ("ipv4",)) -> StepProgram:
    """Return the MPLS steps of a router; below: the protocols whose steps continue below the last label."""
    inner = [f"{name}_extract" for name in below]
    program = StepProgram("mpls", "mpls_extract", [Field("label_entry", LABEL_BITS, region="packet")])

    _extraction(program, box)

    @program.step(
        ["label_entry"], [Call("entry", "label_table", ["label"], when="looked_up")],
        ["flow_count", "mpls_modify"] if counting else ["mpls_modify"], keeps=[*KEEPS_ENTRY, *KEEPS_FLOW],
    )  # fmt: skip
    def mpls_lookup(c: Context) -> str:
        c.entry = NULL if c.null else c.entry
        c.flow, c.after = box.flow_of_label(c.label), "mpls_modify"
        leaves = c.entry is not None and c.entry.port != HERE
        return "flow_count" if counting and leaves else "mpls_modify"

    @program.step(
        ["label_entry"], goes=["mpls_extract", *inner, "emit", "exception", "control"],
        keeps=[Kept("handed", 8, missing=True), KEEPS_LEFT, KEEPS_OUT],
    )  # fmt: skip
    def mpls_modify(c: Context) -> str:
        if c.entry is None:
            return fail(c, Reason.LABEL_UNKNOWN)
        below = c.packet[ENTRY:]
        if c.entry.labels:
            return _sent(box, c, MPLS_TYPE, swapped(c.top, c.entry, c.ttl) + below)
        if c.top.bottom and not is_ip(below, c.label):
            return fail(c, Reason.NOT_IP_BELOW)
        if c.entry.port != HERE:
            exposed = with_ttl(below, c.ttl - 1, not c.top.bottom) if c.entry.uniform else below
            kind = MPLS_TYPE if not c.top.bottom else IPV4_TYPE if exposed[0] >> 4 == IPV4 else IPV6_TYPE
            return _sent(box, c, kind, exposed)
        if c.left > 1:
            c.handed, c.packet, c.left = c.ttl if c.entry.uniform else None, below, c.left - 1
            return "mpls_extract"
        c.packet = with_ttl(below, c.ttl, False) if c.entry.uniform else below
        step = "ipv4_extract" if c.packet[0] >> 4 == IPV4 else "ipv6_extract"
        return step if step in inner else "control"

    return program


def _sent(box: Box, c: Context, kind: bytes, packet: bytes) -> str:
    """Store the frame that leaves by the entry's port; drop it if it exceeds the port's MTU."""
    port = box.golden.router.ports[c.entry.port]
    if len(packet) > port.mtu:
        return fail(c, Reason.LABELLED_TOO_BIG)
    c.out = port.number, c.entry.mac + port.mac + kind + packet
    return "emit"
