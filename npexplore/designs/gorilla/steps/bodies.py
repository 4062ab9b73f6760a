"""The pre-processor's split: a frame becomes a header and a body, which are recombined behind the engine (Sec. 4.1).

    header = Ethernet header, whole label stack, IP header        body = the rest of the frame
    sent   = the header as the engine leaves it + as much of the body as the packet still has

The engine's program sees the header and, as metadata, the length of the body. A frame whose headers cannot be parsed
has no body: all of it is header. The sent frame is split by the same rule, so that pushed, popped or swapped labels,
and padding removed by the total length, need no special cases.
"""

from __future__ import annotations

from npexplore.golden.ethernet import ETHERNET
from npexplore.golden.mpls.stack import ENTRY, read_stack

TYPES4, TYPES6, MPLS = b"\x08\x00", b"\x86\xdd", b"\x88\x47"
SHORTEST4, SHORTEST6 = 20, 40


def header_end(frame: bytes) -> int:
    """Return the offset at which a frame's headers end; the frame's length if they cannot be parsed."""
    kind, offset = frame[12:ETHERNET], ETHERNET
    if kind == MPLS:
        stack = read_stack(frame[ETHERNET:])
        if stack.reason:
            return len(frame)
        offset += ENTRY * stack.depth
    elif kind not in (TYPES4, TYPES6):
        return len(frame)
    first_byte = frame[offset] if offset < len(frame) else 0
    size = {4: max(SHORTEST4, 4 * (first_byte & 15)), 6: SHORTEST6}.get(first_byte >> 4, 0)
    return min(offset + size, len(frame))


def split(frame: bytes) -> tuple[bytes, bytes]:
    """Return (header, body) of a frame."""
    end = header_end(frame)
    return frame[:end], frame[end:]
