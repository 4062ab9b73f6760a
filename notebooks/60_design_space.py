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
from IPython.display import Markdown

import npexplore as npx
from npexplore import plot
from npexplore.plot import Explorer
from npexplore.report import first_screen, headline

plot.use_theme()
LOAD = npx.workload(mix="amp")
MACHINE = npx.design("ixp2400")

# %%
space = {"banks": [2, 4, 8, 16], "bus_bits": [32, 64, 128], "threads": list(range(1, 33)),
         "scheme": ["base", "hb", "fcb", "fcb_tb"]}  # fmt: skip
best = npx.optimise(MACHINE, LOAD, knobs=space, costs=("memory_bits", "banks", "bus_pins", "threads"),
                    confirm="simulation")  # fmt: skip
front = best.to_frame()
front["gbps"] = front.throughput_bps / 1e9
front["memory_kb"] = front.cost_memory_bits / 8192
top = front.loc[front.gbps.idxmax()]
small = front[front.gbps >= 0.8 * top.gbps].sort_values("memory_kb").iloc[0]
first_screen(
    {
        "How fast can it get?": f"{top.gbps:.1f} Gb/s: {top.threads} threads, {top.banks} banks, a bus of "
        f"{top.bus_bits} bits, {top.memory_kb:.1f} KB on the chip.",
        "What binds?": f"Still the {top.bottleneck}; four fifths of that rate need {small.memory_kb:.1f} KB "
        f"({small.scheme}, {small.threads} threads, {small.banks} banks, {small.bus_bits} bits).",
        "How many machines were asked?": best.searched,
    },
    px.scatter(
        front, x="memory_kb", y="gbps", color="scheme", size="threads", hover_data=["banks", "bus_bits", "bottleneck"],
        title="What a scheme's memory buys; large: many threads",
        labels={"gbps": "throughput (Gb/s of packets)", "memory_kb": "memory on chip (KB)"},
    ).update_yaxes(rangemode="tozero"),
    tries={"by hand": "#By-hand", "all at once": "#All-at-once", "turn the knobs": "64_play.html#ixp2400"},
)  # fmt: skip

# %% [markdown]
# ## By hand
#
# One sweep solves the queueing model for every combination of the knobs; the sliders only choose which results are
# drawn. A notebook has one slider for each knob; on an HTML page, without Python, the first slider works.

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
# built machines, so a machine that cannot reach what a cheaper one does is never simulated. Memory on the chip is a
# cost of its own: receive buffer, queues, registers of threads, and scratch memory for cells.

# %%
headline("machines looked at", best.counts["points"])

# %%
headline("of them simulated", best.counts["simulated"])

# %%
told = front[["scheme", "banks", "bus_bits", "threads", "memory_kb", "gbps", "bottleneck"]]
told.rename(columns={"memory_kb": "memory on chip, KB", "gbps": "Gb/s"}).head(12).round(2)

# %% [markdown]
# Which buffer is worth its memory? The figure on top has the best machine for each memory, pins, banks and threads.

# %%
Markdown(best.recommended()[1])

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
