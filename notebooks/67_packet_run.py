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
# # Every packet's fate
#
# A capture goes through a machine and then through a router. Which flow suffered, when, and where did its packets wait?
# A simulation usually answers with averages; here each packet of the capture has a row of its own. Put your own capture
# into the first cell and run the page again.

# %%
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

import npexplore as npx
from npexplore import plot
from npexplore.golden import load_router
from npexplore.machine import Ingress, Machine, Pool, Start, WordMemory
from npexplore.plot import packet_run as figures
from npexplore.report import first_screen, headline
from npexplore.solvers import route_run, write_run

plot.use_theme()
CAPTURE = npx.bundled_path("data/captures/zeek_wikipedia.pcap")
SPEED = 30_000  # the capture was taken on an office link; a network processor does not notice that load

# %%
result = npx.design("ixp2400").run(CAPTURE, speed=SPEED, by_resource=True)
with TemporaryDirectory() as folder:
    files = write_run(result, CAPTURE, folder)
    routed, refused = route_run(result, files, load_router("office"), "office", any_station=True)

ENDS = ["src", "sport", "dst", "dport"]
of_capture = npx.read_capture(CAPTURE).packets
by_router = of_capture.loc[refused.index].groupby(ENDS).size().rename("refused").reset_index()
flows = result.flows().merge(by_router, on=ENDS, how="left").fillna({"refused": 0})
flows = flows.sort_values(["lost", "latency_p99_s"], ascending=False, kind="stable")
suffered, packets = flows.iloc[0], result.packets
lost = packets[packets.outcome == "dropped"].arrival_s * 1e6
waits = packets.filter(regex=r"\.(waiting|held)_s$").sum()
by_place = waits.groupby(waits.index.str.rpartition(".").get_level_values(0)).sum().sort_values(ascending=False)
first_screen(
    {
        "Which flow suffered, and when?": f"Port {suffered.sport} of {suffered.src} lost {suffered.lost} of its "
        f"{suffered.packets} packets to port {suffered.dport}. "
        + (f"All {len(lost)} lost packets came between {lost.min():.0f} and {lost.max():.0f} µs." if len(lost) else ""),
        "What did the router do with the rest?": f"Of {routed.tally.packets} packets that left the machine it forwards "
        f"{routed.tally.forwarded} and refuses {len(refused)}, each by a clause of a standard.",
        "Where did packets wait?": f"{by_place.iloc[0] / by_place.sum():.0%} of all waiting is for "
        f"{by_place.index[0]}, {by_place.iloc[1] / by_place.sum():.0%} for {by_place.index[1]}. Packets wait for free "
        "threads in the receive buffer, and are lost when it is full.",
    },
    figures.timeline_figure(result, windows=150),
    tries={"one table": "#One-table", "the slowest packets": "#The-slowest-packets",
           "is it right?": "#Is-it-right?", "your capture": "#Your-capture"},
)  # fmt: skip

# %% [markdown]
# ## One table
#
# Each row is one direction of a flow: how many packets the machine lost, at which resource the flow waited longest, the
# latency of its packets, when its most delayed packet arrived, and how many packets the router refused afterwards. The
# same burst delays all flows, and the machine gives none of them priority.

# %%
plot.table(
    pd.DataFrame(
        {
            "flow": flows.src + ":" + flows.sport.astype(str) + " to " + flows.dst + ":" + flows.dport.astype(str),
            "packets": flows.packets, "lost": flows.lost, "waited most for": flows.waits_most_at,
            "there, µs": flows.waits_there_s * 1e6, "latency, 99th percentile, µs": flows.latency_p99_s * 1e6,
            "latest came at, µs": flows.worst_at_s * 1e6, "refused by the router": flows.refused.astype(int),
        }
    ).head(12)
)  # fmt: skip

# %% [markdown]
# The same measures over time, in windows of arrivals of 2 µs, around the burst:

# %%
windows = result.over_time(2e-6)
windows = windows[(windows.lost.rolling(9, center=True, min_periods=1).sum() > 0) & (windows.packets > 0)]
plot.table(
    pd.DataFrame(
        {
            "from, µs": windows.start_s * 1e6, "packets": windows.packets, "lost": windows.lost,
            "median latency, µs": windows.latency_p50_s * 1e6, "largest, µs": windows.latency_max_s * 1e6,
            "waited most for": windows.waits_most_at,
        }
    )
)  # fmt: skip

# %% [markdown]
# ## The slowest packets
#
# A packet's times at all resources add up to its latency, to the tick of the simulation.

# %%
slowest = packets.nlargest(30, "latency_s")
figures.waits_figure(slowest, result.design)

# %%
times = packets.filter(regex=r"\.(service|waiting|held)_s$").sum(axis=1)[packets.outcome == "sent"]
difference = (times - packets.latency_s).abs().max()
headline("largest difference between a latency and the sum of its times", f"{round(difference * 1e9, 3):g}", "ns")

# %% [markdown]
# ## After the machine, the router
#
# Frames reach the golden router when they leave the machine; what the machine lost the router never sees. It refuses by
# these clauses:

# %%
plot.table(pd.DataFrame(routed.tally.drops())[["reason", "packets", "meaning", "clause"]])

# %% [markdown]
# ## Is it right?
#
# Sums over the rows are those of `simulate`, which a run checks. That says nothing about the engine itself. A line of a
# fixed rate behind a finite buffer needs no engine: D. V. Lindley's recursion (1952) says when each packet leaves. A
# packet is sent when it has come and the one before it is gone; it is lost where it does not fit beside those that are
# still there. First such a line as a machine of ours, then the recursion in five lines that use nothing of it.

# %%
NS_PER_BYTE, BUFFER = 80, 4096  # 100 Mb/s


def forward(m, packet):
    m.wire.read(bytes=packet.packet_bytes)
    m.receive.free(bytes=packet.packet_bytes)


wire = WordMemory("wire", word_bytes=1, word_s=NS_PER_BYTE * 1e-9)
sender = Pool("sender", 1, forward, start=Start("simultaneous"))
line = npx.design(Machine("line", sender, Ingress("receive", BUFFER), [wire], tick=1e-9))
run = line.run(CAPTURE, speed=1000, loops=20)

# %%
length = run.capture.columns["l3_length"][run.number].astype(int)
arrival = np.round(run.packets.arrival_s.to_numpy() * 1e9)

departure = np.full(len(length), np.nan)  # in nanoseconds; of a packet that is lost there is none
for k, (now, size) in enumerate(zip(arrival, length, strict=True)):
    waiting = length[:k][departure[:k] >= now].sum()
    if waiting + size <= BUFFER:
        departure[k] = max(now, np.nanmax(departure[:k], initial=0)) + NS_PER_BYTE * size

# %%
ours = np.round(run.packets.departure_s.to_numpy() * 1e9)
equal = (ours == departure) | (np.isnan(ours) & np.isnan(departure))
both = pd.DataFrame(
    {
        "packet": run.number, "bytes": length, "comes at, ns": arrival, "leaves at, ns": ours,
        "leaves by Lindley, ns": departure,
    }
)  # fmt: skip
headline(f"of {len(equal):,} packets that leave, or are lost, as the recursion says", f"{equal.sum():,}")

# %%
headline("of these are lost, the same ones by both", int(np.isnan(ours[equal]).sum()))

# %% [markdown]
# Where packets begin to be lost:

# %%
first_lost = int(np.isnan(departure).argmax())
plot.table(both.iloc[max(first_lost - 4, 0) : first_lost + 5].map("{:,.0f}".format).replace("nan", "lost"))

# %% [markdown]
# ## Your capture
#
# ```sh
# npexplore run ixp2400 --trace my.pcap --speed 100 --by-resource --out fates
# npexplore run ixp2400 --trace my.pcap --router office --any-station --out fates
# npexplore run ixp2400 --trace my.pcap --speed 100 --html fates.html
# ```
#
# `fates/packets.parquet` has the rows, `sent.pcap` the frames at the times at which they leave, `dropped.pcap` the lost
# ones, `ports/` what the router sends by each port; `fates.html` is a page like this one. docs/packet_run.md describes
# all columns.
