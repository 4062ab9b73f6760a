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
# # Petri nets: the language of the IXP2400 paper
#
# The paper's model is a coloured timed Petri net. Does its DRAM net, run exactly as drawn, give the throughput that the
# event engine gives and that the paper prints? Which properties of a net can be computed exactly or without a run?

# %%
import pandas as pd

import npexplore as npx
from npexplore import plot
from npexplore.ledger import load
from npexplore.petri import (
    draw_markings,
    draw_net,
    draw_steps,
    find_markings,
    find_structure,
    load_net,
    net,
    record,
    simulate_net,
    solve_chain,
)
from npexplore.plot import curves
from npexplore.report import first_screen, headline

plot.use_theme()
ACCESSES = 200_000

# %%
rates = [row for row in load() if row.key.startswith("ixp2400.fig9.bandwidth.n")]
printed = pd.DataFrame(
    [{"narrow": row.conditions["narrow_share"], "gbps": row.point, "point": row.point, "lo": row.lo,
      "hi": row.hi, "key": row.key}
     for row in rates]
)  # fmt: skip
calibration = sum(row.role == "calibration" for row in rates)
rows = []
for narrow in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5):
    for name, about in (("ixp2400_dram_net", "net"), ("ixp2400_dram", "engine")):
        made = npx.design(name).with_(narrow_share=narrow).simulate(packets=ACCESSES)
        rows.append({"narrow": narrow, "gbps": made.throughput_bps / 1e9, "from": about})
found = pd.DataFrame(rows)
table = found.pivot(index="narrow", columns="from", values="gbps")
table["printed (Fig. 9)"] = printed.set_index("narrow")["gbps"]
apart = (table["net"] / table["engine"] - 1).abs().max()
off = (table["net"] / table["printed (Fig. 9)"] - 1).abs()
markings = find_markings(load_net("philosophers"))
first_screen(
    {
        "Does the net say what the engine says?": "Over six mixes of accesses they are at most "
        f"{100 * apart:.2f} % apart.",
        "What is printed?": f"Fig. 9 has {len(printed)} of these rates, of which {calibration} are calibration rows; "
        f"the net comes within {100 * off.max():.1f} % of each.",
        "What else can be known for certain?": f"Five philosophers stand still after {len(markings.deadlock.firings)} "
        f"firings, found among all {markings.states:,} markings that can be reached.",
    },
    curves(
        found, "narrow", "gbps", "from", published=printed,
        title="DRAM throughput over the share of narrow accesses", x_title="share of narrow accesses", y_title="Gb/s",
    ).update_yaxes(rangemode="tozero"),
    tries={"the net, drawn": "#Fig.-4,-drawn", "firing by firing": "#Fig.-4,-stepped",
           "deadlock": "#Philosophers:-a-deadlock,-with-the-way-there", "the whole study": "10_ixp2400.html"},
)  # fmt: skip

# %% [markdown]
# ## Fig. 4, drawn
#
# Circles are places; requests enter and replies leave at double circles. Bars are transitions: a thin bar takes no
# time, a thick bar does. A grey line leads to what a transition holds while it fires; the small circle on the line from
# `WaitRefresh` marks an inhibitor arc. The file `models/nets/ixp2400_dram.toml` has one line per transition and
# contains no times: these come from the design's file.

# %%
dram = load_net("ixp2400_dram")
draw_net(dram, title="The DRAM net of Fig. 4, before it runs")

# %% [markdown]
# ## Fig. 4, stepped
#
# The slider goes through what happens first, forwards and back.

# %%
draw_steps(record(dram, 60), title="The first sixty firings")

# %% [markdown]
# ## Net against engine against print
#
# Two mechanisms that share only the numbers of one file. Accesses of 32 bytes in place of 64 leave the banks as busy
# and the bus emptier.

# %%
table.round(3)

# %%
headline("net and engine apart at most", f"{100 * apart:.2f} %")

# %% [markdown]
# ## The forwarding net, with Fig. 4 in it
#
# Sec. 3.3 as a net: threads, engines, scratchpad, SRAM, the hash unit and the schemes around the DRAM net, which is a
# part of it. The paper draws only the part. The file is `models/nets/ixp2400.toml`.

# %%
forwarding = load_net("ixp2400")
draw_net(forwarding, title="The forwarding net, before it runs")

# %% [markdown]
# Each row is a published number, answered by the net and by the engine; the engine's interval is beside it. Shares of
# the banks differ for a reason: the net has a bank from its row command on, the engine from the wait for that on.

# %%
keys = [row.key for row in load() if row.key.startswith(("ixp2400.fig15.throughput", "ixp2400.fig15.b"))]
found = {
    name: npx.check(["ixp2400"], keys=keys, seeds=2, packets=4_000, machines={"ixp2400": npx.design(name)}).rows
    for name in ("ixp2400_net", "ixp2400")
}
rows = [
    {
        "row": a["key"].removeprefix("ixp2400.fig15."), "printed": a["point"], "net": a["simulated"],
        "engine": b["simulated"], "low": b["ci95"][0], "high": b["ci95"][1], "label": a["label"].replace("_", " "),
        "verdict": a["verdict"],
    }
    for a, b in zip(found["ixp2400_net"], found["ixp2400"], strict=True)
]  # fmt: skip
fig15 = pd.DataFrame(rows).set_index("row")
fig15.round(1)

# %%
mixed = {}
for scheme in ("base", "hb", "fcb", "fcb_tb"):
    for name, about in (("ixp2400_net", "net"), ("ixp2400", "engine")):
        made = npx.design(name).with_(scheme=scheme).simulate(npx.workload(mix="amp"), packets=2_000)
        mixed.setdefault(about, {})[scheme] = made.throughput_bps / 1e6
fig11 = pd.DataFrame(mixed).rename_axis("Mb/s of the AMP mix, by scheme")
fig11.round(0)

# %%
most = (fig11["net"] / fig11["engine"] - 1).abs().max()
headline("forwarding net and engine apart at most (AMP)", f"{100 * most:.1f} %")

# %% [markdown]
# ## What becomes of the structural fits
#
# The engine's design states ten choices that the paper leaves open and that were made with calibration rows at hand.
# A net drawn by the paper states some of them itself.

# %%
facts = npx.design("ixp2400").parameters
IN_THE_NET = {
    "admission": "Fig. 4: DramSlots is taken by ReadMemCtrlTransform, Bank by RowAddrTrans: one after the other",
    "gating": "Fig. 4: ReadDataTrans and CpuTrans are two transitions, Precharge follows the first",
    "precharge_command": "Fig. 4: arcs from AddrCmdBus lead to RowAddrTrans and ColAddrTrans alone",
    "writes": "still open: Fig. 4 and the text go the way of a read; the net takes it for both",
    "placement": "still open: a formula in DramRequest",
    "long_header_reads": "still open: a number in the packet's token",
    "full_tail": "still open: a formula in PlaceCell",
    "back_pressure_resume": "still open: AlmostFullOff; the paper's own net has no back pressure",
    "padded_cells": "still open: the measure counts cells, and Fig. 12 over Fig. 13 speaks for it",
    "thread_leaves_after_the_data": "Fig. 4: CpuTrans ends the request, Precharge goes on with the bank",
}
chosen = {name: facts[name] if name in facts.file.parameter else "assumed" for name in IN_THE_NET}
pd.DataFrame({"chosen": chosen, "in the net": IN_THE_NET})

# %% [markdown]
# ## Philosophers: a deadlock, with the way there
#
# Each takes one fork, then the other. All markings are looked at, so what is said is certain.

# %%
print("deadlock after:", ", ".join(markings.deadlock.firings))
kept = find_structure(load_net("philosophers")).p_semiflows
print("never changes:", *(" + ".join(flow.weights) for flow in kept[:3]), sep="\n  ")

# %% [markdown]
# All markings of three philosophers, the first on top, a layer a firing: in two of them nothing can fire any more.

# %%
draw_markings(load_net("philosophers", {"n": 3}), title="27 markings of three philosophers, two of them dead")

# %% [markdown]
# ## Kanban: exact beside simulated
#
# Four cells with cards. The Markov chain's answer is certain within its bracket; the simulation has an interval.

# %%
cells = []
for cards in (1, 2, 3):
    line = load_net("kanban", {"t": cards})
    exact, seen = solve_chain(line, only=["in1"]).transitions["in1"], simulate_net(line).transitions["in1"]
    bracket = exact.high - exact.low
    cells.append({"cards": cards, "exact": exact.throughput, "bracket": bracket, "simulated": seen.throughput,
                  "low": seen.low, "high": seen.high})  # fmt: skip
pd.DataFrame(cells).round({"exact": 6, "simulated": 4, "low": 4, "high": 4})

# %% [markdown]
# ## A lock, and why timing must be said
#
# Four threads work for 10 and hold a lock for 2. If firing takes time, each thread works at its own pace; if clocks
# race, one clock works for all of them.

# %%
places = {"Ready": 4, "Waiting": 0, "Lock": 1}
lines = {"work": "Ready -> Waiting, for exponential(10)", "hold": "Waiting -> Ready, using Lock, for exponential(2)"}
held = {
    timing: simulate_net(net(timing=timing, place=places, transition=lines)).transitions["hold"].throughput
    for timing in ("duration", "race")
}
headline("times through the lock a unit of time", ", ".join(f"{name} {rate:.3f}" for name, rate in held.items()))
