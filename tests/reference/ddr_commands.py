"""The command stream of a simulated DDR controller, and a check of every rule between any two of its commands.

The check knows nothing of the controller: it walks over (time, command, channel, bank, row) in plain integers, keeps
for each bank and channel what came before, and reports each distance that is too short. Rules as in JEDEC JESD79 and
JESD79-2.
"""

import itertools
from dataclasses import dataclass

import numpy as np

from npexplore._kernels import engine
from npexplore.engine.model import build
from npexplore.engine.state import State

COMMANDS = ("ACT", "RD", "WR", "PRE", "PREA", "REF")
ROOM = 40_000


@dataclass(frozen=True)
class Command:
    """One command; `bank` counts over all channels."""

    time: int
    name: str
    channel: int
    bank: int
    row: int


def commands(made, workload, seed=1, packets=None):
    """Return the commands of a run with one channel, in order of time, and the state at its end."""
    state = State(build(made, workload), seed, ROOM)
    status = state.advance(4 * 10**18, packets if packets is not None else 4 * 10**18, 10**15)
    assert status in (engine.COUNT_UP, engine.FINISHED, engine.DEADLOCK), status
    written = int(state.orders[0, 0])
    assert written < ROOM
    orders = state.orders[1 : 1 + written].tolist()
    return [Command(time, COMMANDS[command], 0, bank, row) for time, command, bank, row in orders], state


def faults(stream, timing, *, burst, banks, page, tick=1e-12, whole_clocks=False):
    """Return every rule that a command stream breaks, as text; `timing` and `burst` in seconds."""
    t = {name: round(getattr(timing, name) / tick) for name in timing.__dataclass_fields__}
    burst = round(burst / tick)
    found = []

    def apart(rule, before, after, least):
        if before is not None and after - before < least:
            found.append(f"{rule}: {after - before} < {least} at {after}")

    for _, group in itertools.groupby(sorted(stream, key=lambda c: c.channel), key=lambda c: c.channel):
        _channel(list(group), t, burst, banks, page, whole_clocks, apart, found)
    return found


def _channel(stream, t, burst, banks, page, whole_clocks, apart, found):
    first = min(c.bank for c in stream) // banks * banks
    open_row = dict.fromkeys(range(first, first + banks))  # row, or None
    opened, closing = dict.fromkeys(open_row), dict.fromkeys(open_row)  # last ACT; start of the last precharge
    may_close = dict.fromkeys(open_row, 0)  # earliest precharge by the column commands since the ACT
    acts, last_slot, last_column, refreshed = [], None, None, None
    data_end = {"RD": None, "WR": None}
    prefetch, to_close = max(t["t_ccd"], 0), max(burst - t["t_ccd"], 0) + max(t["t_rtp"], t["t_ccd"])
    for c in stream:
        where = f"{c.name} bank {c.bank} at {c.time}"
        if whole_clocks and c.time % t["t_ck"]:
            found.append(f"clock edge: {where}")
        apart("one command a clock", last_slot, c.time, t["t_ck"])
        last_slot = c.time
        if refreshed is not None and c.time < refreshed + t["t_rfc"]:
            found.append(f"tRFC: {where}")
        if c.name == "ACT":
            if open_row[c.bank] is not None:
                found.append(f"row already open: {where}")
            apart("tRC", opened[c.bank], c.time, t["t_rc"])
            apart("tRP", closing[c.bank], c.time, t["t_rp"])
            if acts:
                apart("tRRD", acts[-1], c.time, t["t_rrd"])
            if len(acts) >= 4:
                apart("tFAW", acts[-4], c.time, t["t_faw"])
            acts.append(c.time)
            opened[c.bank], open_row[c.bank], may_close[c.bank] = c.time, c.row, c.time + t["t_ras"]
        elif c.name in ("RD", "WR"):
            if open_row[c.bank] is None or open_row[c.bank] != c.row:
                found.append(f"row not open: {where}")
            apart("tRCD", opened[c.bank], c.time, t["t_rcd"])
            apart("tCCD", last_column, c.time, max(prefetch, 1))
            begin = c.time + (t["t_cl"] if c.name == "RD" else t["t_wl"])
            apart("data bus", data_end[c.name], begin, 0)
            if c.name == "RD":
                apart("tWTR", data_end["WR"], c.time, t["t_wtr"])
            else:
                apart("turn-around", data_end["RD"], begin, t["t_rtw"])
            data_end[c.name], last_column = begin + burst, c.time
            closes = c.time + to_close if c.name == "RD" else begin + burst + t["t_wr"]
            may_close[c.bank] = max(may_close[c.bank], closes)
            if page == "closed":
                following = [d for d in stream if d.time > c.time and d.bank == c.bank][:1]
                if not following or following[0].name in ("ACT", "REF"):  # the last of an access closes the row
                    open_row[c.bank], closing[c.bank] = None, may_close[c.bank]
        else:
            for bank in open_row if c.name in ("PREA", "REF") else [c.bank]:
                if c.name == "REF":
                    if open_row[bank] is not None:
                        found.append(f"refresh with bank {bank} open: {where}")
                    apart("tRP before refresh", closing[bank], c.time, t["t_rp"])
                    apart("tRC before refresh", opened[bank], c.time, t["t_rc"])
                elif open_row[bank] is not None:
                    if c.time < may_close[bank]:
                        found.append(f"tRAS, tRTP or tWR of bank {bank}: {c.time} < {may_close[bank]}")
                    open_row[bank], closing[bank] = None, c.time
            if c.name == "REF":
                apart("refresh interval", refreshed, c.time, t["t_rfc"])
                refreshed = c.time


def gaps(stream, first, second):
    """Return the distances from each `first` command to the next `second`."""
    out = []
    for k, c in enumerate(stream):
        if c.name == first:
            out += [d.time - c.time for d in stream[k + 1 :] if d.name == second][:1]
    return np.array(out)
