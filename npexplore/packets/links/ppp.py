"""PPP (RFC 1661), with or without its ff 03 (RFC 1662), 1-byte protocols included; PPP over Ethernet."""

from npexplore._kernels.capture_headers import PPP, PPP_HDLC, PPPOE
from npexplore.packets.links.format import LinkFormat

FORMATS = (
    LinkFormat("PPP", (9,), PPP),
    LinkFormat("PPP_HDLC", (50,), PPP_HDLC),
    LinkFormat("PPP_ETHER", (51,), PPPOE),
    LinkFormat("PPP_PPPD", (166,), PPP, skip=1),
    LinkFormat("PPP_WITH_DIR", (204,), PPP, skip=1),
)
