"""Other LANs that carry LLC (IEEE 802.2) and SNAP (RFC 1042): FDDI, token ring, ATM (RFC 2684), IP over FireWire."""

from npexplore._kernels.capture_headers import ETHERTYPE_AT, FDDI, LLC, TOKEN_RING
from npexplore.packets.links.format import LinkFormat

FORMATS = (
    LinkFormat("FDDI", (10,), FDDI),
    LinkFormat("IEEE802_5", (6,), TOKEN_RING),
    LinkFormat("ATM_RFC1483", (100,), LLC),
    LinkFormat("APPLE_IP_OVER_IEEE1394", (138,), ETHERTYPE_AT, skip=18, protocol_at=16),
)
