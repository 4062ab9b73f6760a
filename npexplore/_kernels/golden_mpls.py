"""Label stacks of many packets: their shape, what the incoming label map does with them, lookups through a cache.

Packets begin with their stack; they lie in `buffer` (uint8) at offset, length bytes each. The map: `table` has the
number of each label's entry (-1: none); by that number, labels (entries, most) outermost first, count of them, port
(-1: look again here), uniform (the TTL model). golden/mpls/switch.py has the rules.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels.golden_headers import _rewrite
from npexplore.jit import kernel

Array = NDArray[Any]
# codes of golden/reasons.py (a test compares them)
NONE, LABEL_CUT, NO_BOTTOM, LABEL_TTL_EXPIRED, LABEL_RESERVED, LABEL_UNKNOWN, NOT_IP_BELOW = 0, 48, 49, 50, 51, 52, 53
LABEL_ALERT, LABEL_UPSTREAM, OTHER_STATION, LINK_BROADCAST = 55, 56, 28, 12
FIRST_FREE, MAX_TTL, HERE = 16, 255, -1
ROUTER_ALERT, ENTROPY_INDICATOR = 1, 7  # labels


@kernel()
def _entry(b: Array, o: int) -> int:
    return np.int64(b[o]) << 24 | np.int64(b[o + 1]) << 16 | np.int64(b[o + 2]) << 8 | np.int64(b[o + 3])


@kernel()
def _depth(buffer: Array, o: int, n: int) -> int:
    """Return how many entries a stack has; 0 without a bottom."""
    depth = 1
    while buffer[o + 4 * depth - 2] & 1 == 0:
        if n < 4 * (depth + 1):
            return 0
        depth += 1
    return depth


@kernel()
def stacks(buffer: Array, offset: Array, length: Array, columns: Array) -> None:
    """Fill columns (5, n), given as 0, with reason, depth, and label, traffic class, time to live of the top."""
    for i in range(len(offset)):
        o = offset[i]
        if length[i] < 4:
            columns[0, i] = LABEL_CUT
            continue
        depth = _depth(buffer, o, length[i])
        if depth == 0:
            columns[0, i] = NO_BOTTOM
            continue
        word = _entry(buffer, o)
        columns[1, i] = depth
        columns[2, i] = word >> 12
        columns[3, i] = word >> 9 & 7
        columns[4, i] = word & 0xFF


@kernel()
def labels(buffer: Array, offset: Array, length: Array, out: Array) -> None:
    """Fill out (n, most), given as -1, with the labels of whole stacks."""
    for i in range(len(offset)):
        if length[i] >= 4:
            depth = _depth(buffer, offset[i], length[i])
            for k in range(min(depth, out.shape[1])):
                out[i, k] = _entry(buffer, offset[i] + 4 * k) >> 12


@kernel()
def _is_ip(buffer: Array, o: int, n: int, label: int) -> bool:
    version = buffer[o] >> 4 if n > 0 else 0
    if (label == 0 and version != 4) or (label == 2 and version != 6):
        return False
    return (version == 4 and n >= 20) or (version == 6 and n >= 40)


@kernel()
def plan(buffer: Array, offset: Array, length: Array, table: Array, out_labels: Array, count: Array, port: Array,
         uniform: Array, reason: Array, entry: Array, levels: Array, ttls: Array, labelled: Array,
         size: Array) -> None:  # fmt: skip
    """Fill what is to be done with each packet: columns of `Plan`."""
    for i in range(len(offset)):
        o = offset[i]
        n = length[i]
        reason[i] = NONE
        entry[i] = -1
        levels[i] = 0
        ttls[i] = -1
        labelled[i] = False
        size[i] = 0
        if n < 4:
            reason[i] = LABEL_CUT
            continue
        depth = _depth(buffer, o, n)
        if depth == 0:
            reason[i] = NO_BOTTOM
            continue
        handed = -1
        number = 0
        while True:
            word = _entry(buffer, o + 4 * number)
            label = word >> 12
            paired = label == ENTROPY_INDICATOR and number < depth - 1
            after = number + 2 if paired else number + 1
            bottom = after == depth
            ttl = word & 0xFF if handed < 0 else handed
            unseen = paired and number > 0 and handed < 0
            levels[i] = number
            if ttl <= 1 and not unseen:
                reason[i] = LABEL_TTL_EXPIRED
                break
            if label == ROUTER_ALERT and not bottom:
                reason[i] = LABEL_ALERT
                break
            row = -1
            here, many, even = True, 0, not unseen
            if label >= FIRST_FREE:
                levels[i] = after
                row = np.int64(table[label])
                if row < 0:
                    reason[i] = LABEL_UNKNOWN
                    break
                here, many, even = port[row] == HERE, count[row], uniform[row]
            elif not paired and label != 0 and label != 2:
                reason[i] = LABEL_RESERVED
                break
            levels[i] = after
            left = n - 4 * after
            if many == 0 and bottom and not _is_ip(buffer, o + n - left, left, label):
                reason[i] = NOT_IP_BELOW
                break
            if many > 0 or not here or bottom:
                entry[i] = row if many > 0 or not here else -1
                labelled[i] = many > 0 or not bottom
                size[i] = left + 4 * many
                if many > 0 or even:
                    ttls[i] = ttl if many == 0 and here else ttl - 1
                break
            handed = ttl if even else -1
            number = after


@kernel()
def rewrite(buffer: Array, offset: Array, length: Array, rows: Array, reason: Array, entry: Array, levels: Array,
            ttls: Array, labelled: Array, size: Array, out_labels: Array, count: Array, uniform: Array, at: Array,
            out: Array) -> None:  # fmt: skip
    """Write what becomes of the packets of `rows` into out at `at` (one a row of rows), as planned."""
    for r in range(len(rows)):
        i = rows[r]
        if reason[i] != NONE:
            continue
        o, a = offset[i], at[r]
        e = entry[i]
        many = count[e] if e >= 0 else 0
        skip = 4 * levels[i]
        if many > 0:
            top = np.int64(buffer[o + skip - 2])
            for k in range(many):
                last = k == many - 1
                label = out_labels[e, k]
                out[a] = label >> 12
                out[a + 1] = label >> 4 & 0xFF
                out[a + 2] = (label & 15) << 4 | (top & 15 if last else top & 14)
                out[a + 3] = ttls[i] if last or uniform[e] else MAX_TTL
                a += 4
        n = length[i] - skip
        out[a : a + n] = buffer[o + skip : o + skip + n]
        if many > 0 or ttls[i] < 0:
            continue
        if labelled[i]:
            out[a + 3] = ttls[i]
        elif out[a] >> 4 == 6:
            out[a + 7] = ttls[i]
        else:
            _rewrite(out, a, 8, ttls[i] << 8 | np.int64(out[a + 9]))


@kernel()
def cached(label: Array, table: Array, multiplier: int, key: Array, victim: Array, number: Array, hit: Array,
           place: Array) -> None:  # fmt: skip
    """Look labels up in order through a cache: key (sets, bins) holds labels (-1: none), victim the bin replaced next.

    Fill number (of each label's entry, -1: none), hit, place (the set).
    """
    sets, bins = key.shape
    for i in range(len(label)):
        s = ((label[i] * multiplier & 0xFFFFFFFF) * sets) >> 32
        place[i] = s
        number[i] = table[label[i]]
        hit[i] = False
        for b in range(bins):
            if key[s, b] == label[i]:
                hit[i] = True
        if not hit[i] and number[i] >= 0:
            key[s, victim[s]] = label[i]
            victim[s] = (victim[s] + 1) % bins


@kernel()
def stations(buffer: Array, words: Array, offset: Array, in_port: Array, mac: Array, reason: Array) -> None:
    """Overwrite the reasons of frames for another station, of type 0x8848 or for many; mac as in golden_forward."""
    for i in range(len(offset)):
        o = offset[i]
        p = in_port[i]
        many = buffer[o] & 1 != 0
        if not many and (words[o] != mac[p, 0] or words[o + 2] != mac[p, 1]):
            reason[i] = OTHER_STATION
        elif buffer[o + 13] == 0x48:
            reason[i] = LABEL_UPSTREAM
        elif many:
            reason[i] = LINK_BROADCAST


@kernel()
def heads(buffer: Array, offset: Array, rows: Array, entry: Array, labelled: Array, addresses: Array, at: Array,
          out: Array) -> None:  # fmt: skip
    """Write frame heads in front of what `rewrite` wrote: addresses (entries, 12), the frame's own where it stays here."""
    for r in range(len(rows)):
        i = rows[r]
        a = at[r]
        e = entry[i]
        for k in range(12):
            out[a + k] = addresses[e, k] if e >= 0 else buffer[offset[i] + k]
        if labelled[i]:
            out[a + 12] = 0x88
            out[a + 13] = 0x47
        elif out[a + 14] >> 4 == 6:
            out[a + 12] = 0x86
            out[a + 13] = 0xDD
        else:
            out[a + 12] = 8
            out[a + 13] = 0
