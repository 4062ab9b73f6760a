"""Mixed traffic as columns: frames sorted by what they carry, each kind decided at once, the answers put together.

Labelled frames go first: IP that comes out below a stack joins the other frames of IP in the order of arrival.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from npexplore.golden.columns import Packets
from npexplore.golden.ipv6.batch import BatchForwarder6
from npexplore.golden.mpls.batch import BatchLabels
from npexplore.golden.router.forward import ETHERNET, Forwarder
from npexplore.golden.router.frames import Forwarded, Frames, joined

IPV6, MPLS, UPSTREAM = 0x86DD, 0x8847, 0x8848


class Mixed:
    """Decides frames of any kind; `four` decides what is neither IPv6 nor labelled. Nothing is counted."""

    def __init__(self, reference: Forwarder, four: Callable[[Frames], Forwarded]) -> None:
        self._four = four
        labels = reference.router.labels
        self._labels = None if labels is None else BatchLabels(reference.router, labels)
        self._six = None if reference.six is None else BatchForwarder6(reference.six)

    def forward(self, frames: Frames) -> Forwarded:
        """Decide frames in their order."""
        parts: list[tuple[NDArray[np.int64], Forwarded]] = []
        kind = _types(frames.packets)
        labelled = np.flatnonzero((kind == MPLS) | (kind == UPSTREAM))
        if self._labels is not None and len(labelled):
            made = self._labels.forward(frames.rows(labelled))
            parts.append((labelled[made.decided], made.made))
            kind[labelled[made.decided]] = 0
            frames = _replaced(frames, labelled[made.exposed], made.frames)
            kind[labelled[made.exposed]] = _types(made.frames)
            open_rows = np.ones(len(frames), np.bool_)
            open_rows[labelled[made.decided]] = False
        else:
            open_rows = np.ones(len(frames), np.bool_)
        six = open_rows & (kind == IPV6)
        if self._six is not None and six.any():
            rows = np.flatnonzero(six)
            parts.append((rows, self._six.forward(frames.rows(rows))))
            open_rows &= ~six
        rows = np.flatnonzero(open_rows)
        if len(rows) or not parts:
            parts.append((rows, self._four(frames.rows(rows))))
        return joined(len(frames), parts)


def _types(packets: Packets) -> NDArray[np.int64]:
    """Return the type field of each frame, 0 for one that is shorter than a frame's head."""
    whole = packets.length >= ETHERNET
    at = np.where(whole, packets.offset, 0) + 12
    if not whole.any():
        return np.zeros(len(packets), np.int64)
    kind = packets.buffer[at].astype(np.int64) << 8 | packets.buffer[at + 1]
    return np.where(whole, kind, 0)


def _replaced(frames: Frames, rows: NDArray[np.int64], by: Packets) -> Frames:
    """Return the frames with others in place of some rows, behind all others in the buffer."""
    if not len(rows):
        return frames
    offset, length = frames.packets.offset.copy(), frames.packets.length.copy()
    offset[rows], length[rows] = by.offset + len(frames.packets.buffer), by.length
    packets = Packets(np.concatenate([frames.packets.buffer, by.buffer]), offset, length)
    return Frames(packets, frames.port, frames.time_ns)
