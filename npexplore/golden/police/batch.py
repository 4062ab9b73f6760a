"""Policers for columns of packets; results equal `Policer.police` for each packet (a test of tests/law compares)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from npexplore._kernels import golden_diffserv as kernels
from npexplore.errors import InputError
from npexplore.golden.police.base import Policer


def police_many(
    policers: Sequence[Policer], number: ArrayLike, time_ns: ArrayLike, length_bytes: ArrayLike,
    colour: ArrayLike | None = None,
) -> NDArray[np.uint8]:  # fmt: skip
    """Return the colour of each packet, uint8 (n,): 0 green, 1 yellow, 2 red.

    Args:
        policers: the policers; their state changes.
        number: for each packet the index of its policer, integers (n,); -1: none, the packet keeps its colour.
        time_ns: arrival times in ns, which must not decrease, integers (n,).
        length_bytes: bytes of each packet, integers (n,).
        colour: the colours that packets arrive with (None: all green), integers (n,).

    Raises:
        InputError: columns of unequal length, a time that goes back, a colour or index out of range.
    """
    times = ordered_times(time_ns)
    size = len(times)
    index = column("number of the policer", number, size)
    if size and not -1 <= int(index.min()) <= int(index.max()) < len(policers):
        raise InputError(f"number of the policer must be -1 to {len(policers) - 1}, got {index.min()} to {index.max()}")
    lengths = column("length", length_bytes, size)
    arriving_colours = np.zeros(size, np.int64) if colour is None else column("colour", colour, size)
    if size and not 0 <= int(arriving_colours.min()) <= int(arriving_colours.max()) <= 2:
        raise InputError(f"colour must be 0 to 2, got {arriving_colours.min()} to {arriving_colours.max()}")
    table = policer_table(policers)
    out = np.empty(size, np.uint8)
    kernels.police(table, *policer_states(table), index, times, lengths, arriving_colours, out)
    return out


def policer_table(policers: Sequence[Policer]) -> NDArray[np.int64]:
    """Return the kernel's table, one row per policer."""
    return np.array([policer.row() for policer in policers], np.int64).reshape(-1, kernels.POLICER_COLUMNS)


def policer_states(table: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the state before the first packet: last arrival times, and full buckets (two columns)."""
    full = np.ascontiguousarray(table[:, [kernels.P_BURST1, kernels.P_BURST2]])
    return np.full(len(table), -1, np.int64), full


def column(subject: str, values: ArrayLike, size: int) -> NDArray[np.int64]:
    """Return integers, one for each packet, as int64; raises InputError."""
    array = np.ascontiguousarray(values)
    if array.shape != (size,) or (size and array.dtype.kind not in "iub"):
        raise InputError(
            f"{subject} must be whole numbers, one for each of {size} packets, got {array.dtype}{array.shape}"
        )
    return array.astype(np.int64)


def ordered_times(time_ns: ArrayLike) -> NDArray[np.int64]:
    """Return times as int64; raises InputError if they decrease or are negative."""
    times = column("time", time_ns, np.size(time_ns))
    if len(times):
        if times[0] < 0:
            raise InputError(f"time must be at least 0 ns, got {times[0]} for packet 0")
        steps = np.diff(times)
        if len(steps) and steps.min() < 0:
            row = int(np.argmax(steps < 0)) + 1
            raise InputError(f"time must not go back: packet {row} has {times[row]} ns after {times[row - 1]} ns")
    return times
