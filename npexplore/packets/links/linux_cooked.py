"""Linux cooked captures of device `any`: a made-up header with an ethertype, version 1 (16 bytes) and 2 (20 bytes)."""

from npexplore._kernels.capture_headers import ETHERTYPE_AT
from npexplore.packets.links.format import LinkFormat

FORMATS = (
    LinkFormat("LINUX_SLL", (113,), ETHERTYPE_AT, skip=16, protocol_at=14),
    LinkFormat("LINUX_SLL2", (276,), ETHERTYPE_AT, skip=20, protocol_at=0),
)
