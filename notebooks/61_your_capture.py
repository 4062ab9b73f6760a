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
# # Your capture: what is in it, where it would go, what it would cost
#
# Put the name of a capture of your own in the first cell and run the page again: pcap, pcapng or ERF, compressed or
# not. It tells which lengths and flows the capture has, what a cache in front of a routing table would save, which way
# its packets take through a router, and how fast each machine would carry them.

# %%
import pandas as pd
import plotly.express as px

import npexplore as npx
from npexplore import plot
from npexplore.golden import forward_captures, load_router
from npexplore.packets import count_capture, flow_table, hit_ratio_table, lorenz_curve, rate_table
from npexplore.plot import Explorer
from npexplore.plot import captures as figures
from npexplore.report import first_screen, headline
from npexplore.study import compare_on_capture, machines_without_clock, packet_rates

plot.use_theme()
pd.set_option("display.max_colwidth", None)  # whole sources and reasons
CAPTURE = npx.bundled_path("data/captures/zeek_wikipedia.pcap")

# %%
capture, load = npx.read_capture(CAPTURE), npx.workload(trace=CAPTURE)
sides = compare_on_capture(load).dropna(subset="rate_pps")
left_out = machines_without_clock()
fastest, slowest = (sides.loc[sides.rate_pps.astype(float).agg(end)] for end in ("idxmax", "idxmin"))
first_screen(
    {
        "What is in it?": f"{len(capture):,} packets, {load.packet_bytes.mean():.0f} bytes of IP on the mean.",
        "How fast would machines carry it?": f"From {slowest.rate_pps / 1e6:.3g} million packets a second "
        f"({slowest.machine}) to {fastest.rate_pps / 1e6:.3g} million ({fastest.machine}).",
        "What binds there?": f"In {slowest.machine} the {slowest.bottleneck}, in {fastest.machine} the "
        f"{fastest.bottleneck}. "
        f"{len(left_out)} machines are not shown, since nobody states their clocks ({', '.join(left_out)}).",
    },
    px.scatter(
        packet_rates(sides), x="mpps", y="machine", color="solver", symbol="solver", log_x=True,
        color_discrete_map=plot.ORIGIN_COLOURS,
        title="One capture on every machine", labels={"mpps": "million packets a second", "machine": ""},
    ).update_traces(marker={"size": 11}),
    tries={"what is in it": "#What-is-in-it", "where its packets would go": "#Where-its-packets-would-go",
           "turn the knobs": "64_play.html#server"},
)  # fmt: skip

# %% [markdown]
# ## What is in it
#
# If the capture is damaged, the page says where, and uses the packets before the damage.

# %%
capture

# %%
counts, scan = count_capture(CAPTURE)
figures.rates(rate_table(counts))

# %% [markdown]
# ## Flows
#
# A flow is what has the same addresses, protocol and ports. A few flows carry most bytes: the curve shows the share of
# bytes that the largest flows carry.

# %%
flows = flow_table(capture.columns).sort_values("bytes", ascending=False)
headline("flows", len(flows))

# %%
largest = flows.bytes.head(max(1, len(flows) // 10)).sum() / flows.bytes.sum()
headline("bytes in the largest tenth of them", 100 * largest, "%")

# %%
figure = px.line(
    lorenz_curve(flows), x="flows", y="bytes", title="A few flows carry most bytes",
    labels={"flows": "share of flows, largest first", "bytes": "share of bytes"},
)  # fmt: skip
figure.update_xaxes(tickformat=".0%").update_yaxes(tickformat=".0%", rangemode="tozero")

# %% [markdown]
# ## What a cache would save
#
# A cache of the $n$ destinations used last answers a lookup without reading the routing table. How often depends on the
# order of packets alone; the curve is exact for every $n$, from one pass (stack distances).

# %%
figures.hit_ratios(hit_ratio_table(capture.columns))

# %% [markdown]
# ## Where its packets would go
#
# The golden router takes the packets in order of time, by RFC 1812 in every step. `models/routers/office.toml` is a
# router in front of the office where the example capture was taken; write one for your links, or see where packets of
# another network are refused, and by which clause.

# %%
run = forward_captures(load_router("office"), {"office": CAPTURE})
told = run.document()
pd.DataFrame([{"packets": told["packets"], "forwarded": told["forwarded"], "dropped": told["dropped"]}])

# %%
drops = pd.DataFrame(run.tally.drops())
drops

# %% [markdown]
# ## What it would cost each machine
#
# Packets in their order, always one waiting: the roofline, the queueing model, the simulation, in packets a second of
# the best of the three, as drawn on top. A machine that brings traffic of its own gets packets of about the mean length
# instead; the last column says which.

# %%
pd.DataFrame({
    "machine": sides.machine,
    "million packets a second": sides.rate_pps.astype(float) / 1e6,
    "bottleneck": sides.bottleneck,
    "packets": sides.note.fillna("of the capture").str.removeprefix("its own traffic, "),
})  # fmt: skip

# %% [markdown]
# ## Turn the knobs of one machine
#
# A server's program takes so many cycles of a core for a packet, and may look its flows up in a table of 20,000 routes.
# Each point of this sweep is there already: the slider chooses which are drawn, on a page without Python too.

# %%
server = npx.design("server").with_(program="own")
points = [
    (cores, cycles, table, server.with_(cores=cores, own_cycles=cycles, own_lookup=table).simulate(load, packets=2000))
    for cycles in (100, 200, 400, 800)
    for table in ("none", "dir24_8")
    for cores in (1, 2, 3, 4, 6, 8)
]
table = pd.DataFrame(
    [(cores, cycles, table, answer.rate_pps / 1e6) for cores, cycles, table, answer in points],
    columns=["cores", "cycles a packet", "table", "mpps"],
)
Explorer(
    table, "cores", "mpps", ["cycles a packet"], series="table", start={"cycles a packet": 200},
    title="A program of your own on a server, with the packets of this capture", x_title="cores",
    y_title="million packets a second",
)  # fmt: skip

# %% [markdown]
# ## In words

# %%
npx.explain(server, load, elasticities=False)
