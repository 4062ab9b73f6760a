"""Frame relay: a Q.922 address, then a network-layer protocol identifier (RFC 2427) or Cisco's ethertype."""

from npexplore._kernels.capture_headers import FRAME_RELAY
from npexplore.packets.links.format import LinkFormat

FORMATS = (
    LinkFormat("FRELAY", (107,), FRAME_RELAY),
    LinkFormat("FRELAY_WITH_DIR", (206,), FRAME_RELAY, skip=1),
)
