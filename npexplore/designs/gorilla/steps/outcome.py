"""How a step says what becomes of a frame; the frame types it tells apart."""

from npexplore.golden.ethernet import IPV4_TYPE, IPV6_TYPE, MPLS_TYPE, UPSTREAM_TYPE
from npexplore.golden.reasons import Reason
from npexplore.machine.step_programs import Context

TYPES = {IPV4_TYPE: "ipv4", IPV6_TYPE: "ipv6", MPLS_TYPE: "mpls", UPSTREAM_TYPE: "mpls"}


def fail(context: Context, reason: Reason) -> str:
    """Keep the reason for which a packet is dropped; returns the step that drops it."""
    context.reason = reason
    return "exception"
