"""How a step says what becomes of a frame; the frame types it tells apart."""

from npexplore.golden.reasons import Reason
from npexplore.golden.router.forward import IPV4_TYPE
from npexplore.machine.step_programs import Context

IPV6_TYPE, MPLS_TYPE = b"\x86\xdd", b"\x88\x47"  # IEEE 802 numbers, RFC 2464 section 3, RFC 5332 section 3
TYPES = {IPV4_TYPE: "ipv4", IPV6_TYPE: "ipv6", MPLS_TYPE: "mpls"}


def fail(context: Context, reason: Reason) -> str:
    """Keep the reason for which a packet is dropped; returns the step that drops it."""
    context.reason = reason
    return "exception"
