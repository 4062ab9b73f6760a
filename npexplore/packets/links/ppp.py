"""PPP (RFC 1661), with or without its ff 03 (RFC 1662), 1-byte protocols included; PPP over Ethernet.

On a serial line an address of 0f or 8f in front tells Cisco HDLC (RFC 1547 section 4.3.1), whatever the link type says.
"""

from npexplore._kernels.capture_headers import PPP_HDLC, PPPOE
from npexplore.packets.links.format import LinkFormat

FORMATS = (
    LinkFormat("PPP", (9,), PPP_HDLC),
    LinkFormat("PPP_HDLC", (50,), PPP_HDLC),
    LinkFormat("PPP_ETHER", (51,), PPPOE),
    LinkFormat("PPP_PPPD", (166,), PPP_HDLC, skip=1),
    LinkFormat("PPP_WITH_DIR", (204,), PPP_HDLC, skip=1),
)
