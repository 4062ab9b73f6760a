"""BSD loopback interfaces: a 4-byte address family, in the capturing host's order (NULL) or network order (LOOP).

The same family stands in the headers of OpenBSD's encapsulation interface (12 bytes) and packet filter log.
"""

from npexplore._kernels.capture_headers import FAMILY_BIG, FAMILY_BYTE, FAMILY_HOST
from npexplore.packets.links.format import LinkFormat

FORMATS = (
    LinkFormat("NULL", (0,), FAMILY_HOST, skip=4),
    LinkFormat("LOOP", (108,), FAMILY_BIG, skip=4),
    LinkFormat("ENC", (109,), FAMILY_HOST, skip=12),
    LinkFormat("PFLOG", (117,), FAMILY_BYTE, skip=4, length_at=0, length_width=1, protocol_at=1),
)
