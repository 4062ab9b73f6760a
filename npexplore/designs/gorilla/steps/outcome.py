"""Parts that the steps of all protocols share: drop reasons, frame types, and values that steps keep."""

from npexplore.golden.ethernet import IPV4_TYPE, IPV6_TYPE, MPLS_TYPE, UPSTREAM_TYPE
from npexplore.golden.reasons import Reason
from npexplore.machine.step_programs import Context, Kept

TYPES = {IPV4_TYPE: "ipv4", IPV6_TYPE: "ipv6", MPLS_TYPE: "mpls", UPSTREAM_TYPE: "mpls"}
CLASS_BITS, STEP_BITS, PORT_BITS, REASON_BITS = 18, 5, 8, 8
KEEPS_VERDICT = Kept("header_ok", REASON_BITS)
KEEPS_FLOW = Kept("flow", 2 * CLASS_BITS), Kept("after", STEP_BITS)
KEEPS_CLASSES = Kept("da_class", CLASS_BITS, missing=True), Kept("sa_class", CLASS_BITS, missing=True), *KEEPS_FLOW
KEEPS_OUT = Kept("out", PORT_BITS)


def fail(context: Context, reason: Reason) -> str:
    """Store the reason for which a packet is dropped; return the name of the step that drops it."""
    context.reason = reason
    return "exception"
