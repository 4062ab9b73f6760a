"""The pre-processor: a frame becomes a header and a body, which meet again behind the engine (Sec. 4.1).

    header = Ethernet, labels to the bottom, the IP header below them        body = what follows
    sent   = the header that the engine leaves + as much of the body as the packet still has

The engine's program sees the header and, as metadata, how long the body is. A frame whose headers cannot be told has no
body: all of it goes with the header. The frame that is sent is divided by the same rule, so that labels put on, taken
off or exchanged, and padding cut off by a total length, need no rule of their own.
"""

from __future__ import annotations

from npexplore.golden.ethernet import ETHERNET
from npexplore.golden.mpls.stack import ENTRY, read_stack

TYPES4, TYPES6, MPLS = b"\x08\x00", b"\x86\xdd", b"\x88\x47"
SHORTEST4, SHORTEST6 = 20, 40


def header_end(frame: bytes) -> int:
    """Return the offset at which a frame's headers end; the frame's length if they cannot be parsed."""
    kind, at = frame[12:ETHERNET], ETHERNET
    if kind == MPLS:
        stack = read_stack(frame[ETHERNET:])
        if stack.reason:
            return len(frame)
        at += ENTRY * stack.depth
    elif kind not in (TYPES4, TYPES6):
        return len(frame)
    first = frame[at] if at < len(frame) else 0
    size = {4: max(SHORTEST4, 4 * (first & 15)), 6: SHORTEST6}.get(first >> 4, 0)
    return min(at + size, len(frame))


def split(frame: bytes) -> tuple[bytes, bytes]:
    """Return (header, body) of a frame."""
    end = header_end(frame)
    return frame[:end], frame[end:]
