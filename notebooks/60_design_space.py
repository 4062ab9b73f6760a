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
# # A space of designs: which packet buffer is worth its memory?
#
# A packet buffer can have more banks, a wider bus, more threads, another way to cut packets into cells. Which of these
# buys throughput, which only costs, and which machine would one build for a given budget? First by hand, with sliders;
# then all combinations at once, with bounds to prune, queueing to rank, and simulation to confirm.

# %%
from itertools import pairwise

import pandas as pd
import plotly.express as px

import npexplore as npx
from npexplore.plot import theme
from npexplore.plot.explorer import Explorer
from npexplore.report import headline
from npexplore.study.optimising.optimise import optimise

theme.use()
LOAD = npx.workload(mix="amp")
MACHINE = npx.design("ixp2400")

# %% [markdown]
# ## By hand
#
# One sweep answers every combination of the knobs by the queueing model; the sliders only choose what is drawn. In a
# notebook there is one for each knob; on a page the first one works without Python.

# %%
knobs = {
    "banks": [2, 4, 8, 16],
    "bus_bits": [32, 64, 128],
    "threads": [1, 2, 4, 8, 16, 32],
    "scheme": ["base", "hb", "fcb", "fcb_tb"],
}
points = npx.grid(MACHINE, LOAD, solver=("queueing",), **knobs)
table = npx.sweep(points)
table["gbps"] = table.throughput_bps / 1e9
headline("points answered by the queueing model", len(table))

# %%
Explorer(
    table[["banks", "bus_bits", "threads", "scheme", "gbps"]].dropna(),
    "threads", "gbps", ["banks", "bus_bits"], series="scheme", log_x=True, start={"banks": 4, "bus_bits": 64},
    title="Threads, until something else is full", x_title="threads", y_title="throughput (Gb/s of cells)",
)  # fmt: skip

# %% [markdown]
# ## What one step buys
#
# For each knob: from one value to the next, all others as they are, how much more throughput? The box spans the middle
# half of all machines of the sweep. What is near 1 everywhere is not worth its cost.

# %%
steps = []
for knob, values in knobs.items():
    if knob == "scheme":
        continue
    others = [name for name in knobs if name != knob]
    wide = table.pivot_table("gbps", others, knob)
    for low, high in pairwise(values):
        steps.append(pd.DataFrame({"knob": knob, "step": f"{knob} {low} to {high}", "gain": wide[high] / wide[low]}))
figure = px.box(
    pd.concat(steps), x="step", y="gain", color="knob", points=False,
    title="Threads buy most, then a wider bus; banks little",
    labels={"gain": "throughput after / before", "step": ""},
)  # fmt: skip
figure.update_yaxes(rangemode="tozero")

# %% [markdown]
# ## All at once
#
# `optimise` looks for machines that nobody beats at their cost. The bound of every combination is known from a few
# built machines, so a machine that cannot reach what a cheaper one does is never simulated.

# %%
space = {"banks": [2, 4, 8, 16], "bus_bits": [32, 64, 128], "threads": list(range(1, 33)), "scheme": knobs["scheme"]}
best = optimise(MACHINE, LOAD, knobs=space, costs=("banks", "bus_pins", "threads"), merits=("throughput",))
headline("machines looked at", best.counts["points"])

# %%
headline("of them simulated", best.counts["simulated"])

# %%
front = best.frame()
front["gbps"] = front.throughput_bps / 1e9
told = front[["scheme", "banks", "bus_bits", "threads", "cost_bus_pins", "gbps", "bottleneck"]]
told.astype({"cost_bus_pins": int}).rename(columns={"cost_bus_pins": "bus pins", "gbps": "Gb/s"}).head(12).round(2)

# %%
figure = px.scatter(
    front, x="threads", y="gbps", color="scheme", size="banks",
    hover_data=["bus_bits", "bottleneck"], title="Machines that nobody beats at their cost; large: many banks",
    labels={"gbps": "throughput (Gb/s of packets)", "threads": "threads"},
)  # fmt: skip
figure.update_yaxes(rangemode="tozero")

# %% [markdown]
# ## How sure is that?
#
# The same seeds everywhere, so differences are paired; each point of the front has its interval, and what the other
# solvers said stands beside it. A ranking by queueing alone would be off by what this figure shows.

# %%
checked = front.dropna(subset=["queueing_bps"])
figure = px.scatter(
    checked.assign(ratio=checked.queueing_bps / checked.throughput_bps), x="threads", y="ratio", color="scheme",
    title="Queueing against simulation on the front", labels={"ratio": "queueing / simulated", "threads": "threads"},
)  # fmt: skip
figure.add_hline(y=1, line_dash="dot")
