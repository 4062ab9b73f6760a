"""Cisco HDLC: address, control, and an ethertype (RFC 1547 section 4.3.1)."""

from npexplore._kernels.capture_headers import ETHERTYPE_AT
from npexplore.packets.links.format import LinkFormat

FORMATS = (
    LinkFormat("C_HDLC", (104,), ETHERTYPE_AT, skip=4, protocol_at=2),
    LinkFormat("C_HDLC_WITH_DIR", (205,), ETHERTYPE_AT, skip=5, protocol_at=3),
)
