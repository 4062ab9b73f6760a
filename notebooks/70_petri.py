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
# The paper's model is a coloured timed Petri net. Does its DRAM net, run as it is drawn, say what the event engine
# says, and what is printed? And what else can be known of a net, without running it or for certain?

# %%
import pandas as pd
import plotly.express as px

import npexplore as npx
from npexplore.ledger import load
from npexplore.machine.petri import load_net, net
from npexplore.plot import theme
from npexplore.plot.petri import draw, stepping
from npexplore.report import headline
from npexplore.solve.petri import find_markings, find_structure, record, simulate_net, solve_chain

theme.use()
ACCESSES = 200_000

# %% [markdown]
# ## Fig. 4, drawn
#
# Places are circles (double: where requests come in and answers go out), thin bars take no time, thick ones do. Grey
# lines lead to what a transition holds while it fires; the circle on the line from `WaitRefresh` inhibits. The file
# `models/nets/ixp2400_dram.toml` has one line a transition and no number of its own: times come from the design's file.

# %%
dram = load_net("ixp2400_dram")
draw(dram, title="The DRAM net of Fig. 4, before it runs")

# %% [markdown]
# ## Fig. 4, stepped
#
# The slider goes through what happens first, forwards and back.

# %%
stepping(record(dram, 60), title="The first sixty firings")

# %% [markdown]
# ## Net against engine against print
#
# Two mechanisms that share only the numbers of one file. Accesses of 32 bytes in place of 64 leave the banks as busy
# and the bus emptier.

# %%
printed = {row.key: row for row in load() if row.key.startswith("ixp2400.fig9.bandwidth.n")}
rows = []
for narrow in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5):
    for name, about in (("ixp2400_dram_net", "net"), ("ixp2400_dram", "engine")):
        made = npx.design(name).with_(narrow_share=narrow).simulate(packets=ACCESSES)
        rows.append({"narrow": narrow, "gbps": made.throughput_bps / 1e9, "from": about})
    row = printed.get(f"ixp2400.fig9.bandwidth.n{round(100 * narrow)}")
    if row is not None:
        rows.append({"narrow": narrow, "gbps": row.point, "from": "printed (Fig. 9)"})
found = pd.DataFrame(rows)
table = found.pivot(index="narrow", columns="from", values="gbps")
apart = (table["net"] / table["engine"] - 1).abs().max()
table.round(3)

# %%
headline("net and engine apart at most", f"{apart:.2%}")

# %%
px.line(
    found, x="narrow", y="gbps", color="from", markers=True, title="DRAM throughput over the share of narrow accesses",
    labels={"narrow": "share of narrow accesses", "gbps": "Gb/s", "from": ""},
)  # fmt: skip

# %% [markdown]
# ## Philosophers: a deadlock, with the way there
#
# Each takes one fork, then the other. All markings are looked at, so what is said is certain.

# %%
table_for_five = load_net("philosophers")
markings = find_markings(table_for_five)
print("deadlock after:", ", ".join(markings.deadlock.firings))
kept = find_structure(table_for_five).p_semiflows
print("never changes:", *(" + ".join(flow.weights) for flow in kept[:3]), sep="\n  ")

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
