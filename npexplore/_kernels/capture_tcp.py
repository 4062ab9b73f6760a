"""What TCP segments tell of their connection, by the rules of Wireshark's analysis of sequence numbers (packet-tcp.c).

One pass in the order of the capture; a connection's two directions are rows 2n (of its first packet) and 2n + 1.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.jit import kernel

Array = NDArray[Any]
FIN, SYN, RST, ACK = 1, 2, 4, 16
RETRANSMITTED, OUT_OF_ORDER, ZERO_WINDOW = 0, 1, 2  # columns of the counts
NOT_YET = -1
REORDERED_NS = 3_000_000  # as long as no handshake told the round-trip time
FAST_NS = 20_000_000  # since the acknowledgement that asked for it


@kernel()
def _ahead(a, b):
    """Return how far sequence number a is ahead of b, from -2^31 on (RFC 9293 section 3.4)."""
    return ((a - b + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


@kernel()
def analyse(flow: Array, back: Array, time: Array, flags: Array, seq: Array, ack: Array, window: Array, payload: Array,
            counts: Array, handshake: Array) -> None:  # fmt: skip
    """Fill counts (int64, (flows, 3)) and handshake (ns from SYN to the ACK that ends it; NOT_YET without).

    flow: of each segment, back (bool): against the direction of its first packet; the rest are header fields.
    """
    many = 2 * len(handshake)
    following = np.full(many, NOT_YET, np.int64)  # the sequence number behind the last one
    advanced = np.zeros(many, np.int64)  # when it was reached
    acked = np.full(many, NOT_YET, np.int64)
    acked_at = np.zeros(many, np.int64)
    repeated = np.zeros(many, np.int64)
    offered = np.full(many, NOT_YET, np.int64)  # the last window
    began = np.full(len(handshake), NOT_YET, np.int64)
    for i in range(len(flow)):
        f = flow[i]
        me = 2 * f + back[i]
        other = 2 * f + 1 - back[i]
        bits, now, size = np.int64(flags[i]), time[i], payload[i]
        number, special = np.int64(seq[i]), np.int64(flags[i]) & (SYN | FIN | RST)
        if bits & SYN and not bits & ACK:
            began[f] = now
        elif bits & ACK and not bits & SYN and handshake[f] == NOT_YET and began[f] != NOT_YET:
            handshake[f] = now - began[f]
        probe = size == 1 and number == following[me] and offered[other] == 0
        if window[i] == 0 and not special:
            counts[f, ZERO_WINDOW] += 1
        alive = following[me] != NOT_YET and size <= 1 and not special and _ahead(following[me], number) == 1
        if not probe and not alive and size == 0 and not special:
            same = window[i] == offered[me] and number == following[me] and ack[i] == acked[me]
            repeated[me] = repeated[me] + 1 if same else 0
        elif not alive:
            repeated[me] = 0
        if following[me] != NOT_YET and (size > 0 or bits & (SYN | FIN)) and not probe and not alive:
            if _ahead(number, following[me]) < 0:
                since = now - advanced[me]
                limit = handshake[f] if handshake[f] > 0 else REORDERED_NS
                fast = repeated[other] >= 2 and acked[other] == number and now - acked_at[other] < FAST_NS
                end = number + size + (1 if bits & (SYN | FIN) else 0)
                spurious = size > 0 and acked[other] != NOT_YET and _ahead(acked[other], number + size) >= 0
                if not fast and not spurious and since < limit and _ahead(following[me], end) != 0:
                    counts[f, OUT_OF_ORDER] += 1
                else:
                    counts[f, RETRANSMITTED] += 1
        end = (number + size + (1 if bits & (SYN | FIN) else 0)) & 0xFFFFFFFF
        if not probe and (following[me] == NOT_YET or _ahead(end, following[me]) > 0):
            following[me] = end
            advanced[me] = now
        offered[me] = window[i]
        if bits & ACK:
            acked[me] = ack[i]
            acked_at[me] = now
