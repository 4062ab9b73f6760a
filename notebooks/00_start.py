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
# # A tour: a capture, a machine, published numbers
#
# What is in a capture, what would it do to one machine, and how far can such an answer be trusted? Change the file
# name below to a capture of your own and run the notebook again.

# %%
import pandas as pd
import plotly.express as px

import npexplore as npx
from npexplore import plot
from npexplore.plot import cross_check
from npexplore.report import agreement_sentence, first_screen, headline

plot.use_theme()
CAPTURES = npx.bundled_path("data/captures")

# %%
capture = npx.read_capture(CAPTURES / "zeek_wikipedia.pcap")
machine = npx.design("ixp2400")
load = npx.workload(trace=CAPTURES / "zeek_wikipedia.pcap")
answers = [machine.bounds(load), machine.queueing(load), machine.estimate(load, budget="1 s")]
low, high = (end / 1e9 for end in answers[-1].ci95["throughput_bps"])
printed = {
    "ixp2400.peak.base": "all in DRAM, most", "ixp2400.peak.fcb_tb": "both ends on chip, most",
    "ixp2400.fig13.throughput.amp": "core traffic (AMP)", "ixp2400.fig13.throughput.frg": "edge traffic (FRG)",
    "ixp2400.fig13.throughput.psc": "edge traffic (PSC)", "ixp2400.fig15.throughput.w64_b4": "64-byte packets",
}  # fmt: skip
check = npx.check(["ixp2400"], keys=list(printed), seeds=1)
lengths = capture.length_cdf()
first_screen(
    {
        "What is in it?": f"{len(capture):,} packets of {len(lengths.length_bytes)} lengths; "
        f"{100 * lengths.share[lengths.length_bytes <= 100].max():.0f} % have at most 100 bytes.",
        "How fast would a machine carry it, and what binds?": f"An IXP2400 carries "
        f"{answers[-1].throughput_bps / 1e9:.2f} Gb/s of such packets ({low:.2f} to {high:.2f} with 95 % confidence) "
        f"and {answers[0].throughput_bps / 1e9:.2f} at most; {answers[0].bottleneck} binds.",
        "How far can that be trusted?": f"Throughputs alone: {agreement_sentence(check)} "
        "Predictions of other values of this study are less accurate: see its page.",
    },
    cross_check(check.to_frame(), printed, title="What was measured of this machine, and what comes out here"),
    tries={"what is in a capture": "#What-is-in-a-capture", "more threads": "#What-it-would-do-to-a-machine",
           "a capture of your own": "61_your_capture.html", "the whole study": "10_ixp2400.html",
           "turn the knobs": "64_play.html#ixp2400"},
)  # fmt: skip

# %% [markdown]
# ## What is in a capture
#
# Packets of one visit to a web site, as they passed on an Ethernet. Any pcap or pcapng file can stand in its place,
# compressed or not. Lengths are those on the wire, also where the capture kept only the first bytes.

# %%
capture

# %%
headline("packets in the example capture", len(capture))

# %% [markdown]
# Packet lengths decide what a forwarding machine has to do: headers cost time per packet, payload costs bandwidth per
# byte. Real traffic is made of few lengths: acknowledgements of about 60 bytes, and packets that fill a link's limit.
# The share $F(\ell)$ of packets that are no longer than $\ell$ bytes rises in steps:
#
# $$F(\ell) = \frac{1}{n} \sum_{i=1}^{n} [\ell_i \le \ell]$$

# %%
steps = []
for name in ("zeek_wikipedia.pcap", "zeek_workshop_2011_browse.pcap", "zeek_modbus_modbusBig.pcap.gz"):
    cdf = npx.read_capture(CAPTURES / name).length_cdf()
    steps.append(pd.DataFrame({"length_bytes": cdf.length_bytes, "share": cdf.share, "capture": name.split(".")[0]}))

figure = px.line(
    pd.concat(steps),
    x="length_bytes",
    y="share",
    color="capture",
    line_shape="hv",
    log_x=True,
    title="Real packets have few lengths",
    labels={"length_bytes": "frame length (bytes)", "share": "share of packets no longer"},
)
figure.update_yaxes(range=[0, 1.02], tickformat=".0%")

# %% [markdown]
# ## What it would do to a machine
#
# The IXP2400 forwards packets with threads that each carry one packet from receive to transmit, and buffers them in
# DRAM. Three solvers answer from one description: *bounds* say what no schedule can exceed, and which resource sets
# that limit; *queueing* adds the waiting, on average; an *estimate* simulates every access, in as many runs as its 95 %
# interval needs.

# %%
pd.DataFrame(
    {
        "throughput (Gb/s)": [answer.throughput_bps / 1e9 for answer in answers],
        "rate (Mpps)": [answer.rate_pps / 1e6 for answer in answers],
        "bits are those of": [answer.counted for answer in answers],
        "bottleneck": [answer.bottleneck for answer in answers],
    },
    index=[answer.solver for answer in answers],
).round(3)

# %%
headline("estimated for the IXP2400 with this capture", answers[-1].throughput_bps / 1e9, "Gb/s")

# %% [markdown]
# More threads hide more latency, until a resource is full: the rise is latency shared among threads, the flat part what
# the fullest resources let through. The queueing model takes service times to vary more than they do, and waits longer.

# %%
points = []
for threads in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32):
    point = machine.with_(threads=threads)
    for answer in (point.bounds(load), point.queueing(load), point.simulate(load, seed=1)):
        points.append((threads, answer.solver, answer.throughput_bps / 1e9, answer.bottleneck))
scaling = pd.DataFrame(points, columns=["threads", "solver", "throughput_gbps", "bottleneck"])
figure = px.line(
    scaling,
    x="threads",
    y="throughput_gbps",
    color="solver",
    color_discrete_map=plot.ORIGIN_COLOURS,
    markers=True,
    hover_data=["bottleneck"],
    title="Threads hide latency until a resource is full",
    labels={"throughput_gbps": f"throughput (Gb/s of {answers[0].counted})"},
)
figure.update_yaxes(rangemode="tozero")

# %% [markdown]
# ## What the papers printed
#
# Every published number is one row of the ledger, with its place in the paper, its unit and the interval that its
# rounding leaves open. Its **role** says who may read it: models see *input* and *calibration* rows only; *check* rows
# wait for a prediction; *withheld* ones are predicted before their values are known, *blind* ones were.

# %%
ledger = npx.published()
pd.crosstab(ledger["paper"], ledger["role"], margins=True, margins_name="in all")

# %%
headline("published numbers in the ledger", len(ledger))

# %% [markdown]
# Some of them: throughputs of the IXP2400 that its model may not read, and must predict.

# %%
chosen = "paper == 'ixp2400_buffering' and quantity == 'throughput' and role == 'check' and kind == 'number'"
to_predict = ledger.query(chosen).dropna(axis="columns", how="all")
to_predict.set_index("where")[["value", "unit", "lo", "hi", "conditions"]].head(12)
