"""No link header: the packet starts with IP, and its version field says which (RFC 791 section 3.1, RFC 8200)."""

from npexplore._kernels.capture_headers import IP
from npexplore.packets.links.format import LinkFormat

FORMATS = (
    LinkFormat("RAW", (12, 14, 101), IP),
    LinkFormat("IPV4", (228,), IP),
    LinkFormat("IPV6", (229,), IP),
)
