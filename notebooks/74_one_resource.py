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
# # One resource at a time
#
# A packet processor is a few kinds of resources: memory banks, a data bus, a hash unit, SRAM that moves bursts,
# crossings of a static network. For each kind there is a well-known formula, and a reason why this formula is wrong.
# Here each resource stands alone: threads visit only this resource. Bounds, queueing and simulation each give an
# answer; exact theory says which answer is right.

# %%
import pandas as pd

import npexplore as npx
from npexplore import plot
from npexplore.plot import Explorer
from npexplore.report import first_screen

plot.use_theme()
THREADS = [1, 2, 4, 8, 16]
LOADS = [0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95]
SHOWN = ["solver", "threads", "throughput_mpps", "latency_ns"]

# %%
five = {
    "banks": npx.resource("banks", banks=4, word="10 ns", precharge="60 ns"),
    "bus": npx.resource("bus", word="5 ns"),
    "hash": npx.resource("hash", clock="200 MHz", latency_clocks=20),
    "sram": npx.resource("sram", channels=2, burst_words=4, word="5 ns", efficiency=0.9),
    "crossing": npx.resource("crossing", paths=4, words=16),
}
closed = {name: one.explore(threads=THREADS) for name, one in five.items()}
opened = {name: one.explore(rate=LOADS) for name, one in five.items()}
rates = pd.concat([table.to_frame().assign(resource=name) for name, table in closed.items()])
rates["share"] = rates.throughput_mpps / rates.resource.map({name: t.ceiling_pps / 1e6 for name, t in closed.items()})
exact = rates[(rates.solver == "theory") & rates.throughput_mpps.notna()]
alone = exact[exact.threads == 1].set_index("resource").share
both = exact.merge(rates[rates.solver == "queueing"], on=["resource", "threads"], suffixes=("", "_queueing"))
off = (both.throughput_mpps_queueing / both.throughput_mpps - 1).abs().max()
first_screen(
    {
        "How much of the roofline does one thread reach?": ", ".join(
            f"{name} {share:.0%}" for name, share in alone.items()
        ),
        "What breaks the naive formula?": "Banks are busy behind the access: 4 of them give one thread "
        f"{exact.throughput_mpps.iloc[0]:.0f} Mpps and not {closed['banks'].ceiling_pps / 1e6:.0f}. Elsewhere it is "
        "time that the resource does not need and the packet does.",
        "Who is right?": f"Simulation has exact theory in its interval; queueing is at most {off:.1%} off these "
        f"{len(both)} points.",
    },
    plot.curves(
        exact, "threads", "share", "resource", title="What threads get of each roofline, by exact theory", log_x=True,
        x_title="threads", y_title="share of the roofline", percent=True, x_values=THREADS,
    ),
    tries={name: f"#{title}" for name, title in
           {"banks": "Memory-banks", "bus": "Data-bus", "hash": "Hash-unit", "sram": "SRAM-bursts",
            "crossing": "Static-crossing", "row hits": "Row-hits-of-a-DRAM"}.items()},
)  # fmt: skip

# %% [markdown]
# ## Memory banks
#
# ```
# threads --> bank at random [0..3]
#         --> unit: 10 ns a word
#         --> the packet goes on
#             (bank: 60 ns precharge)
# ```
#
# The naive formula for the throughput is banks / (access + precharge). It ignores two effects: two threads may choose
# the same bank while another bank is idle, and a thread may wait for the precharge after its own last access. The exact
# answer comes from a Markov chain whose states say which bank each thread waits for. Under an offered load, one bank by
# itself is an M/D/1 queue; this gives a lower bound of the latency (the line).

# %%
five["banks"].plot()

# %% [markdown]
# Move the number of banks: eight banks are not twice as good as four for one thread, and the unit ends it for many.

# %%
chosen = [
    npx.resource("banks", banks=banks, word="10 ns", precharge="60 ns")
    .explore(threads=[1, 2, 4, 8], solvers=["bounds", "queueing", "theory"])
    .to_frame()
    .assign(banks=banks)
    for banks in (1, 2, 4, 6, 8)
]
table = pd.concat(chosen)
Explorer(
    table[table.throughput_mpps.notna()], "threads", "throughput_mpps", ["banks"], series="solver", start={"banks": 4},
    title="Banks of 10 ns and 60 ns", x_title="threads", y_title="throughput, Mpps",
)  # fmt: skip

# %% [markdown]
# A hot bank takes the roofline down with it; banks in turn reach it.

# %%
pd.DataFrame(
    {
        drawn: {
            f"threads: {point.threads}": point.throughput_pps / 1e6
            for point in npx.resource("banks", word="10 ns", precharge="60 ns", bank=drawn)
            .explore(threads=[1, 4, 16], solvers=["simulation"])
            .points
        }
        for drawn in ("round_robin", "random", "hot:0.5")
    }
).round(1)

# %% [markdown]
# ## Data bus
#
# ```
# threads --> [ bus: words of 5 ns ]
#         --> out
# ```
#
# A bus is always busy while somebody wants it: its roofline is its rate, with one thread as with many. What it costs is
# waiting. Packets of one length wait as in M/D/1; of mixed lengths, longer (M/G/1). Whole words break the formula
# bytes x rate: 65 bytes take as long as 72.

# %%
five["bus"].plot()

# %%
lengths = [
    npx.resource("bus", word="5 ns", packet_bytes=size)
    .explore(rate=LOADS, solvers=["queueing", "theory"])
    .to_frame()
    .assign(packet_bytes=size)
    for size in (64, 65, 72, 128)
]
Explorer(
    pd.concat(lengths), "utilization", "latency_ns", ["packet_bytes"], series="solver",
    title="A bus of 8 bytes in 5 ns", x_title="load", y_title="mean latency, ns",
)  # fmt: skip

# %% [markdown]
# ## Hash unit
#
# ```
# threads --> [ a step every 5 ns ]
#         --> pipeline: 20 clocks
#         --> answer
# ```
#
# One thread gets 1 / latency, not 1 / interval: it waits for its answer before it asks again. The roofline needs as
# many threads as there are steps in the pipeline, and every one more is in vain. All times are constant, so threads
# fall into step and the rate is exactly min(threads / latency, 1 / interval).

# %%
five["hash"].plot()

# %%
places = [
    npx.resource("hash", clock="200 MHz", latency_clocks=20, requests=room)
    .explore(threads=[1, 2, 4, 8, 16, 32], solvers=["bounds", "queueing", "theory"])
    .to_frame()
    .assign(requests=room)
    for room in (2, 4, 8, 16)
]
Explorer(
    pd.concat(places), "threads", "throughput_mpps", ["requests"], series="solver", start={"requests": 4},
    title="Keys that are in the unit at once", x_title="threads", y_title="throughput, Mpps",
)  # fmt: skip

# %% [markdown]
# ## SRAM bursts
#
# ```
# threads --> channel 0 or 1, in turn
#         --> bursts of 4 words
#             at 90 % of the pace
#         --> 20 ns back
# ```
#
# Words move in whole bursts: four bytes more can cost a burst more. Channels in turn are better than channels at
# random: behind Poisson arrivals they wait as in M/D/2.

# %%
five["sram"].plot()

# %%
sizes = [
    npx.resource("sram", word="5 ns", efficiency=0.9, burst_words=4, bytes=size)
    .explore(threads=[1, 2, 4, 8], solvers=["bounds", "queueing", "theory"])
    .to_frame()
    .assign(bytes=size)
    for size in (4, 8, 16, 20, 32, 36)
]
Explorer(
    pd.concat(sizes), "threads", "throughput_mpps", ["bytes"], series="solver", start={"bytes": 16},
    title="Bytes of an access", x_title="threads", y_title="throughput, Mpps",
)  # fmt: skip

# %% [markdown]
# ## Static crossing
#
# ```
#             2 --> 1
#                   v
# 6 --> 3 --> [ switch 4 ] --> 5
#                   v
#                   7
# ```
#
# A link alone would pass a word a cycle, but all routes pass one switch, which has one of them at a time: the sum of
# their words is what counts, and a packet waits for the message before it as in M/D/1, whoever sent it. Where the
# switch must change between routes, the naive sum is too good: routes that wait alternate, and each change costs.

# %%
five["crossing"].plot()

# %%
changes = [
    npx.resource("crossing", paths=2, words=16, change_cycles=cycles)
    .explore(threads=[1, 2, 4, 8, 16], solvers=["bounds", "queueing", "simulation"])
    .to_frame()
    .assign(change_cycles=cycles)
    for cycles in (0, 2, 4, 8, 16)
]
Explorer(
    pd.concat(changes), "threads", "throughput_mpps", ["change_cycles"], series="solver", start={"change_cycles": 8},
    title="Cycles to change a switch between routes", x_title="threads", y_title="throughput, Mpps",
)  # fmt: skip

# %% [markdown]
# ## Row hits of a DRAM
#
# ```
# thread --> bank 0: is the row open?
#            yes: read, 16 ns
#            no:  close it, open mine,
#                 46 ns (tRC) or more
# ```
#
# One thread reads one bank of DDR4-3200 whose rows stay open. A share of the reads goes to one hot row, the others to
# rows at random. Two formulas that come to mind are wrong. The share of hits is not the share of the hot row: a hit
# needs the same row twice in a row, so that 70 % of the reads to one row are 49 % hits. And the rate is not the mean of
# the rates of hits and of misses (the upper line): times add up, rates do not.
#
# The exact answer counts from one row that opens to the next. After it come k hits with probability p^k (1 - p), where
# p is the row's share, and then a row that waits for the end of tRAS and tRP: time that some hits have already used.

# %%
SHARES = [0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0]
reads = {"device": "ddr4_3200", "bank": 0, "policy": {"refresh": "none"}}
rows = pd.concat(
    npx.resource("dram_controller", row=f"hot:{share}", **reads)
    .explore(threads=1, solvers=["theory", "simulation"])
    .to_frame()
    .assign(hot_share=share, hits=share**2)
    for share in SHARES
)
renewal = rows[rows.solver == "theory"].set_index("hot_share")
first, last = renewal.throughput_mpps.iloc[[0, -1]]
mean = rows[rows.solver == "theory"].assign(solver="mean of both rates")
mean["throughput_mpps"] = first + (last - first) * mean.hits
plot.curves(
    pd.concat([rows, mean]), "hot_share", "throughput_mpps", "solver", hover=["hits"],
    band=("throughput_low_mpps", "throughput_high_mpps"), title="One thread's reads against the share of the hot row",
    x_title="share of the reads that go to one row", y_title="throughput, Mpps",
)  # fmt: skip

# %%
simulated = rows[rows.solver == "simulation"].set_index("hot_share")
pd.DataFrame(
    {
        "hits": (simulated.hits * 100).round().astype(int).astype(str) + " %",
        "theory": renewal.throughput_mpps.round(2),
        "simulation": simulated.throughput_mpps.round(2),
        "from": simulated.throughput_low_mpps.round(2),
        "to": simulated.throughput_high_mpps.round(2),
    }
).rename(index="hot:{:g}".format)

# %% [markdown]
# ## From a resource to a machine
#
# Resources in a row, in a loop or beside each other, with threads in front, need no program:

# %%
row = npx.machine_of([five["hash"], five["banks"]], steps=["hash", {"loop": 2, "steps": ["banks"]}], threads=8)
print(row.explain(npx.workload(packet_bytes=64), elasticities=False))

# %% [markdown]
# ## The numbers

# %%
rates[[*SHOWN[:1], "resource", *SHOWN[1:]]].round(1)

# %%
pd.concat([table.to_frame().assign(resource=name) for name, table in opened.items()])[
    ["resource", "solver", "rate_mpps", "utilization", "latency_ns", "latency_low_ns", "latency_high_ns"]
].round(2)
