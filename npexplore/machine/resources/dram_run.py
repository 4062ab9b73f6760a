"""Runs a stream of accesses through DRAM controllers without a machine: rates, latencies, causes of idle data buses.

    bandwidth = bytes / (last data - first access);   binding rule: the cause of most of the time without data

Channels are independent; each runs separately on its part of the stream.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from npexplore._kernels import dram
from npexplore.errors import ModelError, SimulationError
from npexplore.machine.resources.dram_device import DramDevice
from npexplore.machine.resources.dram_policy import CAUSES, DramPolicy, Integers, block
from npexplore.records import by_content

COMMANDS = ("ACT", "RD", "WR", "PRE", "PREA", "REF")
Floats = npt.NDArray[np.float64]

FULL_SHARE = 0.85  # share of time with data, from which the data bus itself binds
RULES = {
    "bank group": "tCCD_L", "turn-around": "tWTR, tRTW", "row opening": "tRCD", "bank": "tRC",
    "row commands apart": "tRRD", "window of four": "tFAW", "refresh": "tRFC",
}  # fmt: skip


@dataclass(frozen=True)
class Commands:
    """Commands in order of time: seconds, names, bank, row and channel.

    bank is counted over all pseudo-channels of a channel. For PREA and REF it is the first bank, and row the number of
    banks.
    """

    seconds: Floats
    names: tuple[str, ...]
    bank: Integers
    row: Integers
    channel: Integers


@by_content
@dataclass(frozen=True)
class DramRun:
    """The result of a stream of accesses; times in seconds, one entry per access."""

    device: DramDevice
    channels: int
    write: Integers
    accepted_s: Floats  # time when the access got its entry
    finished_s: Floats  # time of its last data
    waited_s: Floats  # from its arrival to its last data
    outcome: Integers  # 0 row hit, 1 row opened, 2 another row closed first
    seconds: float  # from the first access to the last data
    bytes: int
    shares: dict[str, float]  # of the data buses' time, by the cause of waiting ("data bus": with data)
    refreshes: int
    commands: Commands

    @property
    def gbytes_per_s(self) -> float:
        """Billion bytes per second."""
        return 1e-9 * self.bytes / self.seconds

    @property
    def gbits_per_s(self) -> float:
        """Billion bits per second, the unit of line rates."""
        return 8 * self.gbytes_per_s

    @property
    def binds(self) -> str:
        """The main cause of waiting of the data buses, or "data bus" if they have data for 85 % of the time."""
        if self.shares["data bus"] >= FULL_SHARE:
            return "data bus"
        waits = {name: share for name, share in self.shares.items() if name != "data bus"}
        return max(waits, key=lambda name: waits[name])

    @property
    def rule(self) -> str | None:
        """The timing rule behind `binds`, named as in data sheets: "tFAW" (None: no rule, such as the data bus)."""
        return RULES.get(self.binds)

    @property
    def hit_share(self) -> float:
        """Share of accesses that found their row open."""
        return float(np.mean(self.outcome == 0))

    def __str__(self) -> str:
        share = 100 * self.bytes / self.seconds / (self.channels * self.device.bytes_per_s)
        rule = f" ({self.rule})" if self.rule else ""
        bound = f"{self.binds}{rule} binds ({100 * self.shares[self.binds]:.0f} % of the time)"
        return (
            f"{self.gbytes_per_s:.2f} GB/s = {self.gbits_per_s:.1f} Gb/s ({share:.0f} % of the pins), {bound}, "
            f"{100 * self.hit_share:.0f} % row hits"
        )


def run_accesses(
    device: DramDevice, policy: DramPolicy | None = None, *, bank: npt.ArrayLike, row: npt.ArrayLike,
    write: npt.ArrayLike = 0, channel: npt.ArrayLike = 0, time_s: npt.ArrayLike = 0.0, bursts: npt.ArrayLike = 1,
    channels: int = 1, commands: int = 0,
) -> DramRun:  # fmt: skip
    """Return the run of accesses in order of their times; each enters when it has arrived and there is room.

    device: the devices of every channel. policy: of the controllers (None: the default). bank, row, write, channel,
    time_s, bursts: one number for all accesses or arrays of shape (n,). bank: counted over the pseudo-channels of a
    channel. write: 1 for a write. time_s: time of arrival (0: all at once, which saturates the memory). bursts: length
    in bursts. channels: number of channels. commands: number of first commands of each channel to record.
    Raises ModelError for banks, rows or times out of range.
    """
    policy = policy or DramPolicy()
    if policy.entries_until == "data":
        raise ModelError('DRAM accesses: entries_until must be "column" or "row" without a machine, got "data"')
    arrays = [np.asarray(column) for column in (bank, row, write, channel, bursts, time_s)]
    n = max(column.size for column in arrays)
    columns = [np.ascontiguousarray(np.broadcast_to(column, n), dtype=np.int64) for column in arrays[:5]]
    seconds = np.broadcast_to(arrays[5].astype(np.float64), n)
    _within("bank", columns[0], device.banks * device.pseudo_channels)
    _within("row", columns[1], 1 << 40)
    _within("write", columns[2], 2)
    _within("channel", columns[3], channels)
    _within("bursts", columns[4] - 1, 1 << 20)
    if np.any(np.diff(seconds) < 0) or not np.all(np.isfinite(seconds)) or (n and seconds[0] < 0):
        raise ModelError("DRAM accesses: time_s must not fall, and begin at 0 or later")
    tick = device.t_ck * 1e-9 / 2
    out = np.zeros((3, n), dtype=np.int64)
    causes, order_parts, refreshed = np.zeros(len(CAUSES)), [], 0
    for k in range(channels):
        on_channel = np.flatnonzero(columns[3] == k)
        D = block(device, policy, tick, 0)
        orders = np.zeros((commands + 1, 4), dtype=np.int64)
        part = np.zeros((3, len(on_channel)), dtype=np.int64)
        served = dram.dram_stream(  # type: ignore[no-untyped-call, call-arg]
            D, np.int64(0), np.ceil(seconds[on_channel] / tick - 1e-6).astype(np.int64),
            *(column[on_channel] for column in (columns[0], columns[1], columns[2], columns[4])),
            part[0], part[1], part[2], orders,
        )  # fmt: skip
        if served != len(on_channel):
            raise SimulationError(
                "deadlock", f"DRAM accesses: {served} of {len(on_channel)} were served, then nothing more could go"
            )
        out[:, on_channel] = part
        causes += D[dram.M_CAUSES : dram.M_CAUSES + len(CAUSES)]
        order_parts.append(np.column_stack([orders[1 : 1 + orders[0, 0]], np.full(orders[0, 0], k)]))
        refreshed += int(D[dram.M_REFRESHES])
    orders = np.concatenate(order_parts)
    orders = orders[np.argsort(orders[:, 0], kind="stable")]
    ends = out[1] * tick
    return DramRun(
        device, channels, columns[2], out[0] * tick, ends, ends - seconds, out[2],
        float(ends.max() - seconds[0]), int(columns[4].sum()) * device.burst_bytes,
        dict(zip(CAUSES, (causes / max(causes.sum(), 1)).tolist(), strict=True)), refreshed,
        Commands(
            (orders[:, 0] * tick).astype(np.float64), tuple(COMMANDS[c] for c in orders[:, 1]),
            orders[:, 2], orders[:, 3], orders[:, 4],
        ),
    )  # fmt: skip


def _within(name: str, values: Integers, below: int) -> None:
    if values.size and (values.min() < 0 or values.max() >= below):
        invalid = values[(values < 0) | (values >= below)][0]
        raise ModelError(f"DRAM accesses: {name} must be in 0..{below - 1}, got {invalid}")
