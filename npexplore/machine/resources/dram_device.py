"""DRAM devices by the names of their standards: organisation and timing, from models/parts/dram_devices.toml.

A rule is a minimum distance between two commands (JEDEC JESD79-4, JESD79-5, JESD209-5, JESD238). Rules named `_l` hold
between commands to one bank group, the others between groups; a rule of 0 does not exist.
"""

from __future__ import annotations

from functools import cache
from math import ceil, floor
from typing import Literal

from npexplore.errors import InputError, ModelError, one_of
from npexplore.machine.resources.base import count_of, time_of
from npexplore.machine.resources.dram_timing import SLACK, DramRules
from npexplore.paths import share
from npexplore.toml import decode

TIMES = (
    "t_rcd", "t_cl", "t_wl", "t_rp", "t_ras", "t_rc", "t_rrd", "t_faw", "t_wr", "t_wtr", "t_rtw", "t_rtp", "t_ccd",
    "t_refi", "t_rfc", "t_rcd_write", "t_rrd_l", "t_wtr_l", "t_ccd_l", "t_ccd_l_write", "t_ppd", "t_rfc_bank",
    "t_rrefd", "t_ref_ref", "t_aad",
)  # fmt: skip
LONGER = (
    ("t_rrd_l", "t_rrd"),
    ("t_wtr_l", "t_wtr"),
    ("t_ccd_l", "t_ccd"),
    ("t_ccd_l_write", "t_ccd_l"),
    ("t_faw", "t_rrd"),
)


class DramDevice(DramRules, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One channel of devices: its organisation, and its rules in nanoseconds.

    Raises ModelError for impossible devices: banks that are no multiple of the groups, a burst that a channel cannot
    carry, a row cycle shorter than opening and closing the row, a rule within a group shorter than between groups.

    Example:
        >>> from npexplore.machine import dram_devices
        >>> device = dram_devices()["ddr5_4800"]
        >>> round(1e12 * device.t_ck)
        416000000000
    """

    banks: int  # of a channel, or of a pseudo-channel
    groups: int  # bank groups
    bus_bits: int  # width of the data bus of a channel or pseudo-channel
    burst_length: int  # transfers of one column command
    transfers: int  # on a pin in a clock
    row_bytes: int  # of an open row, over all devices of a channel
    pseudo_channels: int = 1  # with separate data buses and rules, behind shared command buses
    command_buses: Literal[1, 2] = 1  # 2: one for row and one for column commands
    row_clocks: float = 1  # clocks of a row command
    column_clocks: float = 1  # clocks of a column command
    close_clocks: float = 1  # clocks of a precharge or refresh; halves: it may begin at any clock edge
    t_aad: float = 0.0  # largest delay of the second half of a row command, with other commands between
    t_rcd_write: float = 0.0  # row command to write command, same bank (0: t_rcd)
    t_rrd_l: float = 0.0  # row command to row command, same group (0: t_rrd)
    t_wtr_l: float = 0.0  # last data written to read command, same group (0: t_wtr)
    t_ccd_l: float = 0.0  # column command to column command, same group (0: t_ccd)
    t_ccd_l_write: float = 0.0  # write command to write command, same group (0: t_ccd_l)
    t_ppd: float = 0.0  # precharge to precharge
    # banks refreshed at a time: one of every group, two, one
    bank_refresh: Literal["none", "same-bank", "bank-pair", "per-bank"] = "none"
    t_rfc_bank: float = 0.0  # refresh of some banks to row command there
    t_rrefd: float = 0.0  # refresh of some banks to row command elsewhere
    t_ref_ref: float = 0.0  # refresh of some banks to the next

    def __post_init__(self) -> None:
        for name in ("banks", "groups", "bus_bits", "burst_length", "transfers", "row_bytes", "pseudo_channels"):
            count_of(f"DRAM device: {name}", getattr(self, name))
        for name in TIMES:
            time_of(f"DRAM device: {name}", getattr(self, name))
        if not self.t_ck > 0:
            raise ModelError(f"DRAM device: t_ck must be above 0, got {self.t_ck!r}")
        if self.banks % self.groups:
            raise ModelError(f"DRAM device: banks must be a multiple of groups = {self.groups}, got {self.banks}")
        if self.burst_length % self.transfers or self.burst_length * self.bus_bits % 8:
            raise ModelError(
                f"DRAM device: a burst must be whole clocks of {self.transfers} transfers and whole bytes, "
                f"got burst_length {self.burst_length} on {self.bus_bits} bits"
            )
        if self.row_bytes % self.burst_bytes:
            raise ModelError(f"DRAM device: row_bytes must be whole bursts of {self.burst_bytes}, got {self.row_bytes}")
        if self.t_ras > self.t_rc * (1 + SLACK):
            raise ModelError(f"DRAM device: t_ras must be at most t_rc = {self.t_rc!r}, got {self.t_ras!r}")
        if self.t_rc + self.t_ck < (self.t_ras + self.t_rp) * (1 - SLACK):
            raise ModelError(
                f"DRAM device: t_rc must be within a clock of t_ras + t_rp = {self.t_ras + self.t_rp:.6g}, or above, "
                f"got {self.t_rc!r}"
            )
        if self.command_buses not in (1, 2):
            raise ModelError(f"DRAM device: command_buses must be 1 or 2, got {self.command_buses!r}")
        for name in ("row_clocks", "column_clocks", "close_clocks"):
            clocks = getattr(self, name)
            if not clocks >= 0.5 or clocks % 0.5:
                raise ModelError(f"DRAM device: {name} must be whole or half clocks, at least 1/2, got {clocks!r}")
        least = self.burst_length / self.transfers * self.t_ck
        if self.t_ccd < least * (1 - SLACK):
            raise ModelError(f"DRAM device: t_ccd must be at least a burst of {least:.4g} ns, got {self.t_ccd!r}")
        for name, of in LONGER:
            if getattr(self, name) and getattr(self, name) < getattr(self, of) * (1 - SLACK):
                raise ModelError(
                    f"DRAM device: {name} must be at least {of} = {getattr(self, of)!r}, got {getattr(self, name)!r}"
                )
        for name in ("t_rfc", "t_rfc_bank"):
            if getattr(self, name) and getattr(self, name) >= self.t_refi:
                raise ModelError(
                    f"DRAM device: {name} must be below t_refi = {self.t_refi!r}, got {getattr(self, name)!r}"
                )
        if self.bank_refresh == "bank-pair" and self.banks % 2:
            raise ModelError(f"DRAM device: banks must be even where pairs refresh, got {self.banks}")
        if (self.bank_refresh != "none") != (self.t_rfc_bank > 0):
            raise ModelError(
                f"DRAM device: bank_refresh and t_rfc_bank go together, got {self.bank_refresh!r}, {self.t_rfc_bank!r}"
            )

    @property
    def burst_bytes(self) -> int:
        """Bytes of one column command."""
        return self.burst_length * self.bus_bits // 8

    @property
    def burst_clocks(self) -> int:
        """Clocks of the data of a column command."""
        return self.burst_length // self.transfers

    @property
    def bytes_per_s(self) -> float:
        """Peak rate of all data buses in bytes per second."""
        return self.pseudo_channels * self.burst_bytes / (self.burst_clocks * self.t_ck * 1e-9)

    def clocks(self, name: str) -> int:
        """Return a rule rounded up to whole clocks (t_refi down)."""
        ratio: float = getattr(self, name) / self.t_ck
        return floor(ratio + SLACK) if name == "t_refi" else ceil(ratio - 1e-6)

    def seconds(self, name: str) -> float:
        """Return a rule in seconds, rounded to whole clocks as in `clocks`."""
        return self.clocks(name) * self.t_ck * 1e-9


@cache
def dram_devices() -> dict[str, DramDevice]:
    """Return the devices of models/parts/dram_devices.toml by name; raises InputError with file, rule and value."""
    path = share("models", "parts", "dram_devices.toml")
    try:
        devices: dict[str, DramDevice] = decode(path.read_bytes(), dict[str, DramDevice], path)
    except ModelError as error:
        raise InputError(f"{path.name}: {error}") from None
    for name, device in devices.items():
        if not device.source.strip():
            raise InputError(f"{path.name}: device {name!r} has no source")
    return devices


def dram_device(name: str) -> DramDevice:
    """Return a device by name; raises InputError with the nearest known names."""
    return dram_devices()[one_of("DRAM device", name, dram_devices())]
