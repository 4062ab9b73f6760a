"""The IPv6 steps: as for IPv4, but 128-bit addresses need more steps to extract and look up (Sec. 4.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npexplore.designs.gorilla.steps.outcome import KEEPS_CLASSES, KEEPS_OUT, KEEPS_VERDICT, fail
from npexplore.golden.ipv6.extensions import CHAINED
from npexplore.golden.ipv6.header import SHORTEST, read_header
from npexplore.golden.ipv6.hop_limit import decrement_hop_limit
from npexplore.golden.ipv6.redirect import redirect_target
from npexplore.golden.ipv6.scope import Kind, address_kind, martian
from npexplore.golden.ipv6.validate import validate
from npexplore.golden.reasons import Reason
from npexplore.machine.step_programs import Call, Context, Field, Kept, StepProgram

if TYPE_CHECKING:
    from npexplore.designs.gorilla.steps.box import Box

HEADER_BITS, ADDRESSES_BITS, HOP_BITS = 320, 256, 64
KEEPS_HEADER = (
    Kept("header.payload_length", 16, region="packet", first_bit=32),
    Kept("header.next_header", 8, region="packet", first_bit=48),
    Kept("header.source", 128, region="packet", first_bit=64),
    Kept("header.destination", 128, region="packet", first_bit=192),
)
KEEPS_ADDRESSES = (
    Kept("destination", 128, region="packet", first_bit=192),
    Kept("source", 128, region="packet", first_bit=64),
    Kept("both", 1),
)


def _forwarding(program: StepProgram, box: Box, counting: bool) -> None:
    """Add the lookup step and the step that modifies the header."""

    @program.step(
        ["ipv6_addresses"],
        [Call("da_class", "lookup6", ["destination"]), Call("sa_class", "lookup6", ["source"], when="both")],
        ["flow_count"] if counting else ["ipv6_modify"],
        keeps=KEEPS_CLASSES,
    )
    def ipv6_lookup(c: Context) -> str:
        c.flow, c.after = box.flow_of(c.sa_class, c.da_class), "ipv6_modify"
        return "flow_count" if counting else "ipv6_modify"

    @program.step(["ipv6_hop"], goes=["emit", "exception", "control"], keeps=[KEEPS_OUT])
    def ipv6_modify(c: Context) -> str:
        router = box.ipv6
        assert router is not None
        hop = None if c.da_class is None else router.hops[c.da_class]
        if hop is None or router.refusal(hop):
            return fail(c, router.refusal(hop))
        reason, c.packet = decrement_hop_limit(c.packet)
        if not reason and hop.port != c.port and address_kind(c.source) is Kind.LINK_LOCAL:
            reason = Reason.BEYOND_SCOPE
        if reason:
            return fail(c, reason)
        next_hop = hop.via or c.destination
        if len(c.packet) > router.room(hop) or not router.reaches(hop.port, next_hop):
            return "control"
        if redirect_target(c.port, router.ports[c.port], hop, c.source, c.destination) is not None:
            return "control"
        c.out = hop.port, router.framed(hop, next_hop, c.packet)
        return "emit"


def ipv6_steps(box: Box, counting: bool) -> StepProgram:
    """Return the IPv6 steps of a router; with `counting`, the flow counter follows the lookup."""
    program = StepProgram(
        "ipv6", "ipv6_extract",
        [Field("ipv6_header", HEADER_BITS, lambda c: c.packet, "packet"),
         Field("ipv6_addresses", ADDRESSES_BITS, region="packet", first_byte=8),
         Field("ipv6_hop", HOP_BITS, region="packet")],
    )  # fmt: skip

    @program.step(
        ["ipv6_header"], [Call("header_ok", "integrity6", ["ipv6_header"])], ["ipv6_check"],
        keeps=[KEEPS_VERDICT, *KEEPS_HEADER],
    )  # fmt: skip
    def ipv6_extract(c: Context) -> str:
        if not c.header_ok:
            c.header = read_header(c.packet)
            c.packet = c.packet[: SHORTEST + c.header.payload_length]
        return "ipv6_check"

    @program.step(goes=["ipv6_lookup", "exception", "control"], keeps=KEEPS_ADDRESSES)
    def ipv6_check(c: Context) -> str:
        """Check the header; packets with extension headers or for the router go to the control processor."""
        if c.header_ok:
            return fail(c, c.header_ok)
        reason = martian(c.header.source, c.header.destination)
        if reason:
            return fail(c, reason)
        if box.ipv6 is None or c.header.next_header in CHAINED:
            return "control"
        c.destination, c.source = c.header.destination, c.header.source
        kind = address_kind(c.destination)
        if kind is Kind.MULTICAST:
            return fail(c, Reason.MULTICAST6)
        if c.link_broadcast:
            return fail(c, Reason.LINK_BROADCAST)
        if c.destination in box.ipv6.own:
            return "control"
        if kind is Kind.LINK_LOCAL:
            return fail(c, Reason.LINK_LOCAL_DESTINATION)
        c.both = box.source_lookup
        return "ipv6_lookup"

    _forwarding(program, box, counting)
    return program


INTEGRITY = {"integrity6": validate}
