"""Decides many IPv6 frames at once by frame, header and addresses, before the route lookup."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_ipv6 as kernels
from npexplore.golden.ipv6.addresses import column_of
from npexplore.golden.ipv6.scope import Kind, address_kind
from npexplore.golden.reasons import Reason
from npexplore.golden.router.frames import Frames, words_of_macs
from npexplore.golden.router.sides import Side6


class Arrivals6:
    """Returns a verdict (uint8: a reason, GO or SLOW) and a destination for each frame; whole_chain: see `Rules`."""

    def __init__(self, side: Side6, whole_chain: bool) -> None:
        self._side, self._mac, self._whole_chain = side, words_of_macs(side.router.ports), whole_chain
        self._own = column_of(sorted(address for address in side.own if address_kind(address) is Kind.ROUTABLE))

    def __call__(self, frames: Frames) -> tuple[NDArray[np.uint8], NDArray[np.uint64]]:
        """Decide frames in their order."""
        packets = frames.packets
        verdict, destination = np.empty(len(frames), np.uint8), np.empty((len(frames), 2), np.uint64)
        kernels.arrive(
            packets.buffer, packets.words, packets.offset, packets.length, frames.port, self._mac, self._own,
            self._whole_chain, verdict, destination,
        )  # fmt: skip
        if self._side.router.policy.answers:
            verdict[verdict == Reason.LOCAL_DELIVERY] = kernels.SLOW
        return verdict, destination
