"""The IPv4 steps (Fig. 2 of the paper): extract and check the header, look up both addresses, modify the header."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npexplore.designs.gorilla.steps.outcome import KEEPS_CLASSES, KEEPS_OUT, KEEPS_VERDICT, fail
from npexplore.golden.ipv4.addresses import MAX_ADDRESS
from npexplore.golden.ipv4.delivery import delivery, destination_kind
from npexplore.golden.ipv4.header import read_header
from npexplore.golden.ipv4.martians import martian
from npexplore.golden.ipv4.redirect import redirects
from npexplore.golden.ipv4.ttl import decrement_ttl
from npexplore.golden.ipv4.validate import validate_ipv4
from npexplore.golden.reasons import Reason
from npexplore.machine.step_programs import Call, Context, Field, Kept, StepProgram

if TYPE_CHECKING:
    from npexplore.designs.gorilla.steps.box import Box

HEADER_BITS, ADDRESSES_BITS = 160, 64
SHORTEST = 20
KEEPS_HEADER = (
    Kept("header.header_length", 4, region="packet", first_bit=4, unit=4),
    Kept("header.total_length", 16, region="packet", first_bit=16),
    Kept("header.source", 32, region="packet", first_bit=96),
    Kept("header.destination", 32, region="packet", first_bit=128),
)
KEEPS_ADDRESSES = (
    Kept("destination", 32, region="packet", first_bit=128),
    Kept("source", 32, region="packet", first_bit=96),
    Kept("both", 1),
)


def _forwarding(program: StepProgram, box: Box, counting: bool) -> None:
    """Add the lookup step and the step that modifies the header."""
    router = box.ipv4

    @program.step(
        ["ipv4_addresses"],
        [Call("da_class", "lookup4", ["destination"]), Call("sa_class", "lookup4", ["source"], when="both")],
        ["flow_count"] if counting else ["ipv4_modify"],
        keeps=KEEPS_CLASSES,
    )
    def ipv4_lookup(c: Context) -> str:
        c.flow, c.after = box.flow_of(c.sa_class, c.da_class), "ipv4_modify"
        return "flow_count" if counting else "ipv4_modify"

    @program.step(["ipv4_addresses"], goes=["emit", "exception", "control"], keeps=[KEEPS_OUT])
    def ipv4_modify(c: Context) -> str:
        hop = None if c.da_class is None else router.hops[c.da_class]
        if hop is None or router.refusal(hop):
            return fail(c, router.refusal(hop))
        reason, c.packet = decrement_ttl(c.packet)
        if reason:
            return fail(c, reason)
        next_hop = hop.via or c.destination
        if c.header.total_length > router.room(hop) or not router.reaches(hop.port, next_hop):
            return "control"
        if not hop.stack and redirects(c.port, hop.port, c.header.source, next_hop, False, router.links):
            return "control"
        c.out = hop.port, router.framed(hop, next_hop, c.packet)
        return "emit"


def ipv4_steps(box: Box, counting: bool) -> StepProgram:
    """Return the IPv4 steps of a router; with `counting`, the flow counter follows the lookup."""
    router = box.ipv4
    program = StepProgram(
        "ipv4", "ipv4_extract",
        [Field("ipv4_header", HEADER_BITS, lambda c: c.packet, "packet"),
         Field("ipv4_addresses", ADDRESSES_BITS, region="packet", first_byte=12)],
    )  # fmt: skip

    @program.step(
        ["ipv4_header"], [Call("header_ok", "integrity4", ["ipv4_header"])], ["ipv4_check"],
        keeps=[KEEPS_VERDICT, *KEEPS_HEADER],
    )  # fmt: skip
    def ipv4_extract(c: Context) -> str:
        if not c.header_ok:
            c.header = read_header(c.packet)
            c.packet = c.packet[: c.header.total_length]
        return "ipv4_check"

    @program.step(goes=["ipv4_lookup", "exception", "control"], keeps=KEEPS_ADDRESSES)
    def ipv4_check(c: Context) -> str:
        """Check the header; packets with options or for the router itself go to the control processor."""
        if c.header_ok:
            return fail(c, c.header_ok)
        asks_its_link = c.header.source == 0 and c.header.destination == MAX_ADDRESS  # RFC 1122 section 3.2.1.3 (a)
        if not asks_its_link:
            if router.links.is_broadcast(c.header.source):
                return fail(c, Reason.MARTIAN_SOURCE)
            reason = martian(c.header.source, c.header.destination, router.martians)
            if reason:
                return fail(c, reason)
        if c.header.header_length > SHORTEST or router.router.policy.reverse_path:
            return "control"
        reason = delivery(destination_kind(c.header.destination, router.links), c.link_broadcast)
        if reason is Reason.LOCAL_DELIVERY:
            return "control"
        if reason:
            return "control" if router.router.policy.directed_broadcasts else fail(c, reason)
        c.destination, c.source = c.header.destination, c.header.source
        c.both = box.source_lookup
        return "ipv4_lookup"

    _forwarding(program, box, counting)
    return program


INTEGRITY = {"integrity4": validate_ipv4}
