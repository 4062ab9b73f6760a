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
# # What does my program do with my packets?
#
# Put an XDP program of your own (an eBPF object), a capture, and the router that the program implements into the first
# cell, and run the page again. The page shows the verdicts on the packets, their paths through the program, the lines
# that do most of the work, and whether the golden (reference) router would have done the same. `docs/programs.md` says
# which programs can run.

# %%
import pandas as pd

import npexplore as npx
from npexplore import plot
from npexplore.packets import read_frames
from npexplore.plot import Explorer
from npexplore.plot import programs as figures
from npexplore.programs import path_tree
from npexplore.report import first_screen
from npexplore.testing import XdpRouter, examine_router

plot.use_theme()
pd.set_option("display.max_colwidth", None)  # whole lines
PROGRAM = npx.bundled_path("data/programs/router.o")
CAPTURE = npx.bundled_path("data/captures/zeek_wikipedia.pcap")
ROUTER, INTERFACE = "office", 1  # a configuration, and the interface that the packets come in by: port 0

# %%
mine = XdpRouter(PROGRAM, ROUTER)
capture = npx.read_capture(CAPTURE)
run = mine.program.run(capture, maps=mine.maps, interface=INTERFACE)
paths, lines = run.paths, run.lines()
judged = examine_router(XdpRouter(PROGRAM, ROUTER).forward, ROUTER, max_examples=100)
verdicts = ", ".join(f"{name} {count:,}" for name, count in sorted(run.verdicts.items(), key=lambda one: -one[1]))
steps = run.to_frame()["instructions"]
first_screen(
    {
        "What becomes of my packets?": f"Of {len(run):,}: {verdicts}; {len(run.faults)} kinds of fault.",
        "Where is the work?": f"A packet takes {steps.mean():.0f} instructions on the mean, {steps.max()} at most, on "
        f"{len(paths)} paths. The hottest line has {100 * lines[0]['share']:.0f} % of all: {lines[0]['line']}",
        "Is it right?": f"{judged.frames:,} frames were judged by the golden router: {judged.failures:,} failures in "
        f"{len(judged.clusters)} clusters. What the program passes to the kernel is not judged.",
    },
    figures.verdicts(run, capture),
    tries={"the paths as a tree": "#Paths", "the hot lines": "#Hot-lines", "wrong verdicts": "#Wrong-verdicts"},
)  # fmt: skip

# %% [markdown]
# ## Paths
#
# The figure splits the packets at every branch of the program that not all of them take. The height of a box is its
# share of the packets, its colour their most frequent verdict; click a box to see the branches inside it. The table
# below lists the branches with their source lines.

# %%
figures.paths(run)

# %%
pd.DataFrame([
    {"branch": "\u00b7 " * one["depth"] + one["label"], "packets": one["packets"], "share": f"{one['share']:.1%}",
     "verdicts": ", ".join(f"{name} {count}" for name, count in one["verdicts"].items())} for one in path_tree(run)
])  # fmt: skip

# %%
pd.DataFrame(paths)[["path", "packets", "verdict", "instructions", "branches_taken", "helpers", "example"]].head(12)

# %% [markdown]
# ## Hot lines
#
# Source lines by their share of all instructions, as a profiler shows them.

# %%
pd.DataFrame([{"share": f"{100 * one['share']:.1f} %", "line": one["line"]} for one in lines[:12]])

# %% [markdown]
# ## The rarest path
#
# The first packet that took it, as it came in. `npexplore program paths --out DIR` writes such a packet of every path
# as a capture.

# %%
rarest = paths[-1]
_, frame = list(read_frames(CAPTURE))[rarest["example"]]
pd.DataFrame([{
    "packet": rarest["example"], "verdict": rarest["verdict"], "instructions": rarest["instructions"],
    "of all packets": f"{rarest['packets']} of {len(run)}", "bytes": bytes(frame[:64]).hex(" ", 4),
}]).T  # fmt: skip

# %% [markdown]
# ## Wrong verdicts
#
# The program above has none. This one, `router_faulty.o`, has three planted faults; each cluster is a rule that it
# breaks, with the smallest frame that shows it. `npexplore conform --xdp FILE.o --tests FILE.py` makes tests of them.

# %%
faulty = examine_router(
    XdpRouter(npx.bundled_path("data/programs/router_faulty.o"), ROUTER).forward, ROUTER, max_examples=300
)  # fmt: skip
pd.DataFrame([
    {"failures": one.failures, "rule": one.title, "bytes of the smallest frame": len(one.smallest.frame)}
    for one in faulty.clusters
])  # fmt: skip

# %% [markdown]
# ## How large must a map be?
#
# A cache of destination addresses in an LRU map: the share of IPv4 packets so far that missed it. The slider is the
# number of entries of the map; all runs are made beforehand.

# %%
CACHE = """
.map seen lru_hash 4 8 {entries}
ldxw r6, [r1+0]
ldxw r7, [r1+4]
mov r2, r6
add r2, 34
mov r0, 1
jgt r2, r7, out
ldxh r3, [r6+12]
jne r3, 8, out            # 0x0800, as it stands in memory
ldxw r3, [r6+30]
stxw [r10-4], r3
stdw [r10-16], 1
lddw r1, map seen
mov r2, r10
add r2, -4
call map_lookup_elem
jne r0, 0, hit
lddw r1, map seen
mov r2, r10
add r2, -4
mov r3, r10
add r3, -16
mov r4, 0
call map_update_elem
mov r0, 2                 # a miss passes
ja out
hit: mov r0, 3
out: exit
"""
curves = []
for entries in (1, 2, 4, 8, 16, 32):
    outcome = npx.program(CACHE.format(entries=entries)).run(capture).to_frame()["verdict"]
    missed = (outcome[outcome != "drop"] == "pass").reset_index(drop=True)
    share = missed.cumsum() / (missed.index + 1)
    curves += [{"packets": k + 1, "misses": value, "entries": entries} for k, value in enumerate(share)]
Explorer(
    pd.DataFrame(curves), "packets", "misses", ["entries"], start={"entries": 4},
    title="Lookups that miss a cache of destinations", x_title="IPv4 packets so far", y_title="share that missed",
)  # fmt: skip
