# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Memory of today: what narrow accesses, row hits and mixes cost
#
# A packet buffer of 2007 used one channel of DDR-200. What throughput would DDR4, DDR5, LPDDR5 or HBM3 give it, and
# which accesses do they require for that? Newer generations have longer bursts, more banks, and banks in groups: two
# commands to the same group must be further apart in time than commands to different groups. The controller model
# here obeys every timing rule of each standard; two established simulators agree with its results
# (`tests/agree/test_agree_dram_simulators.py`).

# %%
import numpy as np
import pandas as pd

from npexplore import plot
from npexplore.machine import DramPolicy, dram_accesses, dram_devices, run_accesses
from npexplore.papers.ixp2400 import memory_of_today
from npexplore.plot import dram
from npexplore.report import first_screen

plot.use_theme()
DEVICES = dram_devices()


def run(name, pattern, policy=None, writes=0.0, n=20_000, among=None, **kept):
    """One saturated run of a device."""
    made = dram_accesses(DEVICES[name], pattern, n, seed=1, writes=writes, among=among)
    return run_accesses(DEVICES[name], policy, bank=made.bank, row=made.row, write=made.write, **kept)


# %%
PATTERNS = {"hits": "row hits, all banks", "runs": "runs of four", "random": "at random"}
found = {(name, told): run(name, pattern) for name in DEVICES for pattern, told in PATTERNS.items()}
today = memory_of_today()
then, best = today.iloc[0], today.loc[today.gbps.idxmax()]
of_pins = pd.Series({key: 1e9 * one.gbytes_per_s / one.device.bytes_per_s for key, one in found.items()})
hits, random = (of_pins.xs(PATTERNS[kind], level=1) for kind in ("hits", "random"))
first_screen(
    {
        "What would memory of today give the IXP2400?": f"Its packet buffer of 2007 moves {then.gbps:.1f} Gb/s; one "
        f"channel of {best.memory} moves {best.gbps:.0f} Gb/s of the same accesses, {best.times:.0f} times as much.",
        "What binds?": f"With row hits the pins: {100 * hits.min():.0f} to {100 * hits.max():.0f} % of them are used. "
        f"At random rows must be opened: {100 * random.min():.0f} % are left of {random.idxmin()} "
        f"({found[random.idxmin(), PATTERNS['random']].binds}), {100 * random.max():.0f} % of {random.idxmax()}.",
        "What does it ask for in return?": "Accesses as wide as a burst, "
        f"{' or '.join(f'{size}' for size in sorted({d.burst_bytes for d in DEVICES.values()}))} bytes; who needs 8 of "
        "them pays for all.",
    },
    dram.against_pins(found, title="What the pins could do, and what accesses get of it"),
    tries={"in the IXP2400": "#If-this-stood-in-the-IXP2400",
           "bank groups": "#Bank-groups:-row-hits-within-one-group-are-half-as-fast",
           "narrow accesses": "#Narrow-accesses", "commands, one by one": "#Commands,-any-window-of-time"},
)  # fmt: skip

# %% [markdown]
# ## What a channel gives: in GB/s, in Gb/s, and what binds
#
# The pins set the peak rate. Row hits come near the peak; refresh takes the rest. Random accesses do not come near it:
# each opens a row, and the standard limits how many rows may be opened in a time window (four) and how soon a bank may
# open its next row. *What binds* is the data bus if it carries data for more than half of the time, otherwise the rule
# that the bus waits for most.

# %%
pd.DataFrame(
    [
        (
            name,
            told,
            one.device.burst_bytes,
            1e-9 * one.device.bytes_per_s,
            one.gbytes_per_s,
            one.gbits_per_s,
            one.binds,
        )
        for (name, told), one in found.items()
    ],
    columns=["device", "accesses", "bytes of a burst", "pins, GB/s", "GB/s", "Gb/s", "what binds"],
).round(1)

# %%
dram.shares(
    pd.DataFrame({f"{name}, {told}": one.shares for (name, told), one in found.items()}).T,
    title="What the data bus waits for",
)

# %% [markdown]
# ## If this stood in the IXP2400
#
# Its packet buffer, one channel of DDR-200 of 64 bits, moves 64-byte accesses at random in and out. The same accesses,
# half of them writes, on one channel of each generation:

# %%
today.rename(columns={"gbps": "Gb/s", "times": "times as much"}).round(1)

# %% [markdown]
# ## Bank groups: row hits within one group are half as fast
#
# A stream that stays in one group hits its row every time and still gets half the pins on DDR4-3200. Interleaving must
# change groups with every burst; in an address map the lowest bits of the bank choose the group.

# %%
pd.DataFrame(
    {
        f"{count} group{'s'[: count > 1]}": {
            name: run(name, "hits", among=(count, device.banks // device.groups)).gbytes_per_s
            for name, device in DEVICES.items()
        }
        for count in (1, 2, 4)
    }
).round(1)

# %% [markdown]
# ## Open or closed page
#
# An open row is won if the next access to its bank hits it, and lost (a precharge more) if not. `adaptive` closes a row
# with the last access that waits for it.

# %%
PAGES = ("open", "adaptive", "closed")
pd.DataFrame(
    {
        (name, told): {page: run(name, pattern, DramPolicy(page=page)).gbits_per_s for page in PAGES}
        for name in DEVICES
        for pattern, told in {"runs": "runs of four", "random": "at random"}.items()
    }
).T.round(1)

# %% [markdown]
# ## Reads and writes
#
# The data bus must be turned round between them, and a bank that was written recovers before it closes. The write
# buffer gathers writes and drains them from a high to a low mark.

# %%
MIXES = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
pd.DataFrame(
    {f"{mix:.0%} writes": {name: run(name, "random", writes=mix).gbits_per_s for name in DEVICES} for mix in MIXES}
).round(1)

# %% [markdown]
# ## Narrow accesses
#
# A burst is 64 bytes on DDR4 and DDR5, 32 on LPDDR5 and HBM3. Who needs eight bytes of it pays for all: a descriptor, a
# counter, a queue pointer. Useful Gb/s of accesses at random:

# %%
SIZES = (4, 8, 16, 32, 64)
rates = {name: found[name, "at random"].gbytes_per_s / device.burst_bytes for name, device in DEVICES.items()}
pd.DataFrame(
    {
        f"{size} bytes": {
            name: 8 * rate * size / np.ceil(size / DEVICES[name].burst_bytes) for name, rate in rates.items()
        }
        for size in SIZES
    }
).round(1)

# %% [markdown]
# ## Refresh: all banks, or some at a time
#
# While all banks refresh nothing else goes. DDR5 refreshes one bank of every group, LPDDR5 and HBM3 a bank or two,
# while the others work on.

# %%
pd.DataFrame(
    {
        refresh: {
            name: run(name, "random", DramPolicy(refresh=refresh)).gbits_per_s
            for name, device in DEVICES.items()
            if device.bank_refresh != "none"
        }
        for refresh in ("none", "all-bank", "bank")
    }
).round(1)

# %% [markdown]
# ## Commands, any window of time
#
# Half reads, half writes at random on DDR4-3200: activates in fours (the window), columns behind them.

# %%
shown = run("ddr4_3200", "random", writes=0.5, n=2000, commands=6000)
dram.commands(shown, 500e-9, 700e-9, title="DDR4-3200, half of the accesses writes")
