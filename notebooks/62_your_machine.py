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
# # A machine of your own: a SmartNIC from its data sheet
#
# Can a card of today take 100 Gb/s of small packets, and where must a packet wait so that it can? This page builds such
# a card from what its makers print, holds the model against arithmetic that fits on an envelope, and only then asks it
# questions that arithmetic cannot answer. `npexplore new NAME` writes a smaller machine to begin with, and its test.

# %%
import pandas as pd
import plotly.express as px

import npexplore as npx
from npexplore import plot
from npexplore.ledger import load
from npexplore.papers import hash_rates, qdr_peaks
from npexplore.plot import data_sheet_rates, published_points, with_layout
from npexplore.report import first_screen, headline

plot.use_theme()
pd.set_option("display.max_colwidth", None)  # whole sources and reasons
FILE = npx.bundled_path("models/machines/smartnic.toml")

# %%
nic = npx.design("smartnic")
LENGTHS = [46, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1280, 1500]
envelope = pd.DataFrame({"length_bytes": LENGTHS})
length = envelope.length_bytes
loads = {one: npx.workload(packet_bytes=one) for one in LENGTHS}
for name, server in (("line", "ethernet.in"), ("cores", "core"), ("host link", "pcie.up")):
    envelope[name] = [nic.demands(loads[one]).ceilings()[server] for one in LENGTHS]
envelope["estimate"] = [nic.estimate(loads[one], budget="1 s").rate_pps for one in LENGTHS]
buffered = nic.with_(buffer="memory").estimate(loads[1500], budget="1 s")
card = npx.design("server").with_(program="drop", ring=512, cores=6).bounds(npx.workload(packet_bytes=64))
measured = load()["xdp.drop.no_touch.r512.c6"]
small = nic.bounds(loads[64])
carried = envelope[envelope.estimate >= 0.98 * envelope.line].length_bytes.min()
shown = envelope.melt("length_bytes", ["line", "cores", "host link"], "what limits", "pps")
figure = px.line(
    shown.assign(mpps=shown.pps / 1e6),
    x="length_bytes",
    y="mpps",
    color="what limits",
    log_x=True,
    log_y=True,
    labels={"length_bytes": "packet length (bytes)", "mpps": "packets a second (million)"},
)
figure.add_scatter(x=length, y=envelope.estimate / 1e6, mode="markers", name="estimate")
figure.update_traces(marker={"size": 9, "color": plot.ORIGIN_COLOURS["estimate"]}, selector={"name": "estimate"})
figure.add_trace(
    published_points(
        pd.DataFrame(
            [{"length_bytes": 64, "point": measured.point, "lo": measured.lo, "hi": measured.hi, "key": measured.key}]
        ),
        "length_bytes",
        "point",
        name="another card, measured",
    )
)
figure.add_scatter(
    x=[64],
    y=[card.rate_pps / 1e6],
    mode="markers",
    name="that card, link formula",
    marker={"symbol": "triangle-up-open", "size": 13, "color": plot.ORIGIN_COLOURS["bounds"], "line_width": 2},
)
figure.update_xaxes(dtick="D2").update_yaxes(dtick="D2")
first_screen(
    {
        "Can it take 100 Gb/s?": f"From {carried} bytes a packet on; of 64 bytes "
        f"{envelope.line[1] / 1e6:.0f} million packets a second come, and it takes {small.rate_pps / 1e6:.0f} million.",
        "What binds, and where may packets wait?": f"With 64 bytes the {small.bottleneck}. They must wait on the chip: "
        f"in its one channel of memory even 1500 bytes run at {buffered.throughput_bps / 1e9:.0f} Gb/s.",
        "How close to measurements?": f"The link formula says {card.rate_pps / 1e6:.1f} million packets a second for a "
        f"card that was measured at {measured.point:.1f}, {card.rate_pps / 1e6 / measured.point - 1:+.1%}.",
    },
    with_layout(figure, "Short packets are work for cores, long ones fill the line", 430),
    tries={"what a packet does": "#What-a-packet-does", "where packets may wait": "#Where-may-packets-wait?",
           "what helps most": "#What-helps-most,-for-real-traffic", "a machine of your own": "#Your-turn",
           "turn the knobs": "64_play.html#smartnic"},
)  # fmt: skip

# %% [markdown]
# ## Facts, knobs, assumptions
#
# The parts are those of NVIDIA's BlueField-2: eight cores, one channel of DDR4-3200, PCI Express 4.0, an Ethernet port
# of 100 Gb/s. The file `models/machines/smartnic.toml` gives each number with its source. A number without a published
# source (cycles that a program spends on a packet, credits that a host grants) is a knob or an assumption, and is
# marked as one.

# %%
facts = nic.parameters.file.parameter
pd.DataFrame(
    [(name, one.value, one.unit, one.kind, one.source) for name, one in facts.items()],
    columns=["parameter", "value", "unit", "kind", "who says so"],
)

# %% [markdown]
# ## What a packet does
#
# The whole machine is that file: tables of parts, and these lines. They are read once; bounds, queueing and simulation
# all follow from them.

# %%
text = FILE.read_text()
print(text[text.index("[resource.core]") :])

# %% [markdown]
# ## Three limits that fit on an envelope
#
# With packets of $\ell$ bytes no more can come than the line brings, the cores work off, or the link to the host takes
# (frames of $f = \max(\ell+18, 64)$ bytes; $t$ is what acknowledgements, flow control and clock compensation take of
# the link):
#
# $$ r \le \min\left( \frac{100\cdot10^9/8}{f+20},\quad \frac{8\cdot 2.5\cdot10^9}{200},\quad
# \frac{16\cdot 16\cdot10^9\cdot\frac{128}{130}\,(1-t)/8}{f-4+16+24\,(1+\lceil (f-4)/256\rceil)} \right) $$
#
# These are the same formulas as the machine's, so agreement with them would prove nothing. What can be held against
# measurements is the link: a 100-Gbit card of the third generation, whose six cores do nothing but drop, stops at what
# its link takes (`72_server.py`), and so does a device that writes large blocks (`71_pcie.py`).

# %%
headline(
    f"million packets a second: the link formula for a measured card (measured: {measured.point:.1f})",
    card.rate_pps / 1e6,
)

# %%
headline("error of the link formula there", 100 * (card.rate_pps / 1e6 / measured.point - 1), "%")

# %% [markdown]
# Million packets a second, by length:

# %%
in_millions = envelope.set_index("length_bytes").div(1e6).reset_index()
plot.table(in_millions.rename(columns={"length_bytes": "bytes"}), digits=3)

# %% [markdown]
# ## Where may packets wait?
#
# On the chip a packet costs the memory nothing. In memory each byte crosses the bus twice, and a bus that turns
# around between reads and writes, banks that are still busy, and refresh take their part. A packet lies in one row,
# and so in one group of banks, which DDR4 lets give only half of what the bus could take; others fill the gaps, if
# they are there.

# %%
places = {
    "on the chip": {},
    "in memory": {"buffer": "memory"},
    "in memory, DDR4-2400": {"buffer": "memory", "memory_part": "ddr4_2400"},
    "in two channels": {"buffer": "memory", "channels": 2},
}
rows = []
for where, knobs in places.items():
    for one in LENGTHS:
        design = nic.with_(**knobs)
        bound, got = design.bounds(loads[one]), design.simulate(loads[one], packets=10_000)
        rows.append((where, one, got.throughput_bps / 1e9, bound.throughput_bps / 1e9, bound.bottleneck))
waiting = pd.DataFrame(rows, columns=["packets wait", "length_bytes", "gbps", "ceiling", "what binds"])
figure = px.line(
    waiting,
    x="length_bytes",
    y="gbps",
    color="packets wait",
    markers=True,
    log_x=True,
    hover_data=["ceiling", "what binds"],
    title="One channel of memory does not hold a line of 100 Gb/s",
    labels={"length_bytes": "packet length (bytes)", "gbps": "packets to the host (Gb/s)"},
)
figure.add_scatter(
    x=LENGTHS, y=envelope.line * length * 8 / 1e9, mode="lines", name="line", line={"dash": "dot", "color": "gray"}
)
figure.update_xaxes(dtick="D2").update_yaxes(rangemode="tozero")

# %%
at_full = waiting[waiting.length_bytes == 1500].set_index("packets wait").gbps
headline("1500-byte packets through one channel of memory", float(at_full["in memory"]), "Gb/s")

# %%
plot.table(at_full.rename("1500-byte packets (Gb/s)").reset_index(), digits=3)

# %% [markdown]
# ## Credits and the way to the host
#
# A write to the host needs credits, and they come back late. No more data can be under way than there are credits, so
# throughput is at most $\text{credits}\cdot 16\,\text{bytes} / (\text{time on the link} + \text{delay})$.

# %%
rows = [
    (credits, delay, nic.with_(credits=credits, credit_ns=delay).simulate(loads[1500], packets=5_000))
    for credits in (96, 192, 384, 768, 1536)
    for delay in (200.0, 400.0, 800.0, 1600.0)
]
credit = pd.DataFrame(
    [(credits, f"{delay:.0f} ns", answer.throughput_bps / 1e9) for credits, delay, answer in rows],
    columns=["credits", "delay", "gbps"],
)
figure = px.line(
    credit,
    x="credits",
    y="gbps",
    color="delay",
    markers=True,
    log_x=True,
    title="Credits times 16 bytes cover the delay, or the link stands still",
    labels={"credits": "credits of 16 bytes", "gbps": "1500-byte packets (Gb/s)", "delay": "until credits are back"},
)
figure.update_xaxes(tickvals=sorted(set(credit.credits))).update_yaxes(rangemode="tozero")

# %% [markdown]
# ## What helps most, for real traffic
#
# With packets of a capture in place of one length, `explain` asks each number in turn: one per cent more, how many per
# cent more throughput?

# %%
capture = npx.workload(trace="sample:zeek_wikipedia")
npx.explain(nic.with_(buffer="memory"), capture)

# %% [markdown]
# ## Parts to build with
#
# `models/parts` has a shelf of parts, each a short file of parameters, servers and visits: a PCI Express link with
# credits, QDR SRAM, a hash unit, an Ethernet port, an engine priced by the byte. Two of them, driven as fast as they
# go, against the peaks that one works out from their sheets:

# %%
sheet = qdr_peaks()
worst = (sheet.simulated_gbps / sheet.sheet_gbps - 1).abs().max()
headline("largest gap of the simulated QDR SRAM to its sheet", f"{100 * worst:.2f} %")

# %%
data_sheet_rates(
    sheet,
    "words",
    "gbps",
    title="A burst moves all its words, asked for or not",
    x_title="words asked for at once",
    y_title="useful words of both ports (Gb/s)",
)

# %%
data_sheet_rates(
    hash_rates(),
    "offered_mpps",
    "mpps",
    title="A hash unit answers what comes, up to a step a clock",
    x_title="keys that come (million a second)",
    y_title="keys answered (million a second)",
)

# %% [markdown]
# ## Your turn
#
# ```
# npexplore new my_nic                 # my_nic.toml and its test; --python for a Python function
# npexplore explain my_nic.toml --packet-bytes 64
# npexplore sweep my_nic.toml --packet-bytes 64 --set cores=1,2,4,8 --out cores.parquet
# ```
#
# Replace its numbers by those of your machine and its test by what your data sheet promises. docs/machine_files.md has
# every key, docs/resources.md every kind, docs/parts.md a part of your own, docs/machines.md every form of a program.
