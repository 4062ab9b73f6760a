"""Endace's ERF: whole records inside another capture file, and the record types that have no other link type."""

from npexplore._kernels.capture_headers import ERF, LLC
from npexplore.packets.erf import TYPES, own_link_type
from npexplore.packets.links.format import LinkFormat

_ATM_HEADER_BYTES = 4  # in front of reassembled AAL5, whose frames start with LLC (RFC 2684)
_AAL5 = {"AAL5", "MC_AAL5"}

FORMATS = (
    LinkFormat("ERF", (197,), ERF),
    *(
        LinkFormat(f"ERF_{known.name}", (own_link_type(kind),), LLC, skip=_ATM_HEADER_BYTES)
        if known.name in _AAL5
        else LinkFormat(f"ERF_{known.name}", (own_link_type(kind),))
        for kind, known in TYPES.items()
        if known.link_type is None
    ),
)
