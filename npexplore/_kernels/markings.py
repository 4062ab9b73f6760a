"""All markings of a Petri net, breadth first: a marking is a few 64-bit words, and a word is compared at once.

Each place has a field of bits and a guard bit above it, which is 0 in every marking. (M | guards) - need keeps the
guard bits of just those places that have as many tokens as `need` says, and no field borrows from the next one. A
firing adds one number to each word; a guard bit in the sum tells that a place has outgrown its field.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.jit import kernel, types

Array = NDArray[Any]
ALL, NEEDS_ROOM, GROWN = range(3)  # why `explore` returns: all is found, it needs room, a place needs more bits
Q_KNOWN, Q_DONE, Q_ARCS = range(3)  # markings found, those of them whose firings are written, firings
Q_WIDTH = 3
C_WORD, C_END = range(2)  # of a condition: its word; of a transition: where its conditions end
HIGH, LOW = (
    np.uint64(0xFFFFFFFF00000000),
    np.uint64(0xFFFFFFFF),
)  # of a slot: bits of the hash, 1 + the marking's number
ZERO, ONE = np.uint64(0), np.uint64(1)

_words = types.uint64[:, ::1]


@kernel(types.uint64(_words, types.int64))
def _hash(words, i):
    h = ZERO
    for w in range(words.shape[1]):
        h = (h ^ words[i, w]) * np.uint64(0x9E3779B97F4A7C15)
        h ^= h >> np.uint64(32)
    h *= np.uint64(0xD6E8FEB86659FD93)
    return h ^ (h >> np.uint64(32))


@kernel(types.void(_words, types.int64, types.uint64[::1]))
def enter(words: Array, known: int, slots: Array) -> None:
    """Enter the first `known` markings, all different, into empty slots."""
    mask = np.uint64(len(slots) - 1)
    for i in range(known):
        h = _hash(words, i)
        at = h & mask
        while slots[at] != ZERO:
            at = (at + ONE) & mask
        slots[at] = (h & HIGH) | np.uint64(i + 1)


@kernel(
    types.int64(
        _words, types.uint64[::1], types.int64[::1], types.int32[::1], types.int32[::1],
        types.int32[::1], types.int32[::1], types.int64[::1], types.int64[::1], _words, _words, types.uint64[::1],
        _words, types.uint64[::1], types.uint64[::1], types.uint64[::1], types.int64, types.int64[::1],
    )
)  # fmt: skip
def explore(
    words: Array, slots: Array, begin: Array, target: Array, which: Array,
    name: Array, level: Array, ends: Array, word: Array, conditions: Array, change: Array, guards: Array,
    following: Array, hashes: Array, seen: Array, grown: Array, most: int, Q: Array,
) -> int:  # fmt: skip
    """Write the firings of markings, and the markings they lead to, until all are found; returns why it stops.

    words (room, W): markings. slots: 2^b, at most half full. begin (room + 1,): where the firings of a marking stand in
    target (number of a marking) and which (name of a transition). Transitions j have name[j], stand by falling level,
    and fire where (M[w] | guards[w]) - need & care == want for all their conditions c < ends[j], w = word[c],
    (need, care, want) = conditions[c]; change (T, W) is added. Of those that may fire the highest level does.
    following (B, W), hashes (B,), seen (B,): room for firings at once. grown (W,): guard bits of places that need
    more bits. most: it stops behind so many markings.
    """
    n_words = words.shape[1]
    n_transitions = len(name)
    mask = np.uint64(len(slots) - 1)
    batch = len(hashes)
    known, done, arcs = Q[Q_KNOWN], Q[Q_DONE], Q[Q_ARCS]
    while done < known and known <= most:
        if known + batch > len(words) or arcs + batch > len(target) or 2 * (known + batch) > len(slots):
            return NEEDS_ROOM
        # ---- what fires
        n = 0
        while done < known and n + n_transitions <= batch:
            first = n
            now = 0
            over = ZERO
            c = 0
            for j in range(n_transitions):
                if n > first and level[j] != now:
                    break
                able = True
                for c in range(ends[j - 1] if j > 0 else 0, ends[j]):
                    w = word[c]
                    if ((words[done, w] | guards[w]) - conditions[c, 0]) & conditions[c, 1] != conditions[c, 2]:
                        able = False
                        break
                if not able:
                    continue
                now = level[j]
                for w in range(n_words):
                    x = words[done, w] + change[j, w]
                    grown[w] |= x & guards[w]
                    over |= x & guards[w]
                    following[n, w] = x
                which[arcs + n] = name[j]
                n += 1
            if over != ZERO:
                n = first
                break
            done += 1
            begin[done] = arcs + n
        if n == 0 and over != ZERO:
            return GROWN
        for w in range(n_words):
            grown[w] = ZERO
        # ---- where that leads: memory is asked for what all of them need before any is looked at
        for k in range(n):
            hashes[k] = _hash(following, k)
            seen[k] = slots[hashes[k] & mask]
        for k in range(n):
            h = hashes[k]
            at = h & mask
            while True:
                slot = slots[at]
                if slot == ZERO:
                    for w in range(n_words):
                        words[known, w] = following[k, w]
                    known += 1
                    slots[at] = (h & HIGH) | np.uint64(known)
                    target[arcs + k] = known - 1
                    break
                if (slot ^ h) & HIGH == ZERO:
                    other = np.int64(slot & LOW) - 1
                    same = True
                    for w in range(n_words):
                        same &= words[other, w] == following[k, w]
                    if same:
                        target[arcs + k] = other
                        break
                at = (at + ONE) & mask
        arcs += n
        Q[Q_KNOWN], Q[Q_DONE], Q[Q_ARCS] = known, done, arcs
    return ALL


@kernel(types.void(_words, types.int64[::1], types.int64[::1], types.int64[::1], types.int32[:, ::1]))
def unpack(words: Array, word: Array, shift: Array, bits: Array, rows: Array) -> None:
    """Write the tokens (n, P) of markings: place p has `bits` bits of a word from `shift` on."""
    for i in range(len(rows)):
        for p in range(rows.shape[1]):
            field = words[i, word[p]] >> np.uint64(shift[p])
            rows[i, p] = np.int32(field & ((ONE << np.uint64(bits[p])) - ONE))
