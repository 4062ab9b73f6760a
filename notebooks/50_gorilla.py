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
# # Gorilla: a step program on clusters of engines
#
# A router written as a program of steps, compiled into an FPGA: how many clusters, engines and threads does it take to
# forward 200 million packets a second of IPv4, IPv6 and MPLS, and when is the memory the limit? The program runs on
# real packets, equals the golden (reference) router, and its traces give the visit ratios and demands of all models.

# %%
import numpy as np
import pandas as pd

import npexplore as npx
from npexplore import plot
from npexplore.golden import Trie20_4_8
from npexplore.ledger import audit, facts, load
from npexplore.papers.gorilla import (
    area,
    beyond,
    channels,
    claims,
    engine_program,
    performance,
    router_tables,
    storage,
    storage6,
    structures,
    trie_program,
    virtual_routers,
)
from npexplore.plot import curves
from npexplore.plot import gorilla as drawings
from npexplore.report import headline, paper_screen, row_sentences, scores
from npexplore.step_programs import pipeline

plot.use_theme()
ledger = load()
np_ = npx.design("gorilla")
quick = np_.with_(boot_us=20, window_us=40)
p = np_.parameters
names = {"mpls_1_ipv4": "MPLS 1 + IPv4", "mpls_1_ipv6": "MPLS 1 + IPv6", "ipv4_ipv6": "IPv4 + IPv6", "ipv4": "IPv4",
         "ipv6": "IPv6", "mpls_1": "MPLS 1", "mpls_2": "MPLS 2", "mpls_3": "MPLS 3", "mpls_4": "MPLS 4"}  # fmt: skip
heads = {"flow_counting": "flow counting", "issue_cycles": "engine's cycles", "residence_cycles": "with all waits",
         "mpps": "Mpps", "p99_ns": "99 % within (ns)", "reads_busy": "reads busy", "writes_busy": "writes busy",
         "engines_busy": "engines busy", "waiting": "calls in line", "at_exit": "headers inside",
         "mpps_per_context": "Mpps a thread", "mpps_per_area": "Mpps for 1 % of the LUTs", "lut": "LUTs",
         "delay": "delay (cycles)", "quickest_ns": "quickest cluster (ns)", "slowest_ns": "slowest (ns)",
         "even": "evenness", "highest_mpps": "highest Mpps"}  # fmt: skip

# %%
check = npx.check(["gorilla"], seeds=1)
judged = check.to_frame()
told = row_sentences(check)
paper_screen(
    check,
    {
        "How fast?": f"16 clusters of six engines with four threads forward {told('gorilla.perf.ipv4.16-6-4.nofc')} of "
        f"IPv4, and {told('gorilla.perf.mpls4.16-6-4.fc')} with four labels and flow counting.",
        "What binds?": f"The engines: four in a cluster forward {told('gorilla.perf.ipv4.16-4-4.nofc')}; counting "
        f"flows, six with one thread do {told('gorilla.perf.ipv4.16-6-1.fc')}; the memory then needs "
        f"{told('gorilla.fig7.200.ipv4.lufc.qdriiplus.channels')} channels.",
    },
    {"gorilla.perf.ipv4.16-6-4.nofc": "IPv4, 16-6-4", "gorilla.perf.ipv4.16-6-1.fc": "counting flows, one thread",
     "gorilla.perf.ipv4.16-4-4.fc": "counting flows, four engines",
     "gorilla.perf.mpls4.16-6-4.fc": "four labels, counting", "gorilla.perf.mpls4.16-6-2.nofc": "two threads",
     "gorilla.np.board.linerate": "on the board", "gorilla.fig6.rrc02.total": "routes of rrc02",
     "gorilla.fig12.v6hx380t.e6.t2": "LUTs, 6 engines, 2 threads", "gorilla.board.lut": "LUTs of the board",
     "gorilla.arb.local.fair.area": "LUTs of fair arbiters"},
    tries={"its resources alone": "74_one_resource.html#Hash-unit",
           "the program": "#The-program", "tables and channels": "#Tables-and-channels",
           "every printed number": "#Does-it-agree-with-what-was-published?"},
    play="gorilla",
)  # fmt: skip

# %% [markdown]
# ## The machine as formulas
#
# Most curves of the paper are lost; its text, three tables and what it claims of configurations remain. Everything
# below is computed from the description of the machine. All tables stay in variables: change a knob and run again.
#
# First: the packet rate that each resource alone would allow, lowest first, and the latency of a packet that never
# waits for another packet. Then: the knob values at which another resource becomes the bottleneck, if only that one
# knob changes.

# %%
np_.formula()

# %% [markdown]
# ## The program
#
# Each box is a step: it calls accelerators, computes, and names the next step. Labels go round; the last one that is
# popped leads to IPv4. *(Fig. 1)*

# %%
program = engine_program(router_tables())
substeps = pd.DataFrame(
    [
        {"step": s.name, "bits read": s.bits, "request builder": ", ".join(c.accelerator for c in s.calls),
         "context edit, jump": ", ".join(s.goes) if s.step else "next piece", "split by": s.why}
        for s in program.substeps()
    ]
)  # fmt: skip
calls = {name: [c.accelerator for s in pieces for c in s.calls] for name, pieces in program.pieces.items()}
drawings.program(calls, {name: len(pieces) for name, pieces in program.pieces.items()}, substeps)

# %% [markdown]
# The compiler splits a step that reads more than the scratchpad's 128 bits, that calls one accelerator more often than
# it has ports, or in which one call takes another's reply. What is left are the three parts of each step: request
# builder, context edit and jump. Compiled alone, IPv4 has 10 steps, IPv6 12 and MPLS 13, as the paper states.
# *(Fig. 2)*

# %%
plot.table(substeps, height=430)

# %%
drawings.flow(
    [
        ("Domain code", ["steps in Python"]), ("Checks", ["dependencies, ports,", "width: split"]),
        ("Three parts", ["request, edit, jump"]), ("Traces", ["run on real packets"]),
        ("Templates", ["engine, pipeline,", "arbiters, FIFOs"]), ("Machine", ["bounds, simulation"]),
    ],
    "From a step program to a machine", substeps,
)  # fmt: skip

# %% [markdown]
# The same compiler as in the paper, but the end is a model instead of Verilog. *(Fig. 3)* Where jumps only go forward
# and delays are constant there is a pipeline form too; labels do not have one:

# %%
alone = engine_program(router_tables(), ["ipv4"])
straight = pipeline(alone, {"integrity2": 1, "integrity4": 1, "lookup4": 12})
headline("IPv4 as a straight pipeline, a packet each cycle", straight.latency_cycles, "cycles from end to end")

# %% [markdown]
# ## The machine
#
# Bodies wait in a buffer. Headers go to clusters in turn; a thread takes one and keeps its engine until an accelerator
# is called. In order of arrival headers meet their bodies and leave. The bars show how busy the parts of 16-6-4 are
# with 200 Mpps of IPv4. *(Fig. 4)*

# %%
answer = np_.simulate()
busy = {name: share.busy for name, share in answer.utilization.items()}
drawings.architecture(p, busy, pd.DataFrame(busy.items(), columns=["part", "busy"]))

# %% [markdown]
# ### Header and body
#
# How full the body buffer is follows from Little's law: packets a second times what each spends inside times its
# body, and on top what bodies spend in the pre- and the post-processor. Of minimum-size packets it is nearly empty;
# where it has too little room, packets are dropped in front of it.

# %%
rows = []
for frames, mpps, kib in (("minimum", 200, 256), ("imix", 40, 256), ("maximum", 8, 256), ("maximum", 8, 4)):
    at = quick.with_(frames=frames, rate_mpps=float(mpps), body_kib=kib)
    found, each = at.simulate(), at.workload().columns["body_words"].mean() * 16
    inside = found.utilization["order"].busy * p.reorder_places
    rows.append((frames, mpps, kib, found.rate_pps / 1e6, inside, inside * each / 1024,
                 found.utilization["bodies"].busy * kib))  # fmt: skip
columns = ["frames", "offered Mpps", "buffer (KiB)", "forwarded Mpps", "packets inside", "their bodies (KiB)",
           "in the buffer (KiB)"]  # fmt: skip
plot.table(pd.DataFrame(rows, columns=columns), digits=3)

# %% [markdown]
# A lookup is a step program as well: a step a level, each of which reads the memory. *(Fig. 5)*

# %%
walk = trie_program(router_tables().ipv4.lpm)
drawings.lookup(Trie20_4_8.STRIDES, p, pd.DataFrame([{"step": s.name} for s in walk.substeps()]))

# %% [markdown]
# What each kind of traffic does, from executing the program: steps, calls, the engine's cycles, those with all waits,
# and reads of the external memory.

# %%
plot.table(performance.waits(np_).replace({"traffic": names}).rename(columns=heads), digits=4, height=430)

# %% [markdown]
# Every frame is held against the golden router: what the program sends, drops or leaves to the control processor.
# *(Fig. 8)*

# %%
drawings.flow(
    [
        ("Frames", ["drawn around routes"]), ("Step program", ["executed"]), ("Golden router", ["frame by frame"]),
        ("Compare", ["port, bytes, reason"]), ("Traces", ["visits, reads"]), ("Simulation", ["rates, drops"]),
    ],
    "Verification: the program against the golden router", pd.DataFrame(), back="a difference is shrunk and shown",
    back_from=3,
)  # fmt: skip

# %% [markdown]
# ## Does it agree with what was published?
#
# Fitted: the cycles beside steps to the one rate below what is offered, the lookup's delay to one configuration that
# keeps up, the area to three cells, the sites of a routing table to one collector. **Label** follows from what was read
# for the value: `calibrated` if something was fitted to the row, or to rows from which it follows, `post hoc` if
# something was chosen after it or them, `arithmetic` if it tests no model, else `predicted`. All
# claims on rates are post hoc: cycles of a step were chosen with their table in view.

# %%
plot.verdict_table(judged)

# %%
plot.cross_check_table(judged, {row.key: row.where for row in ledger})

# %% [markdown]
# In one line a group, beside what a reader without a model would say of the same rows: of claims on rates, that no
# packet is ever lost. **Skill** is 1 - error / error of the best reader; red is what has none. Left open are one to
# three cycles a step: each is asked for the claims on one configuration.

# %%
scores(check)

# %%
best = judged.set_index("key")["simulated"]
headline("16-6-4, four labels, flow counting (printed: 195.7)", float(best["gorilla.perf.mpls4.16-6-4.fc"]), "Mpps")

# %% [markdown]
# ## Tables and channels
#
# ### Trie storage *(Fig. 6)*
#
# Level 1 has an entry for each value of 20 bits; level 2 grows by blocks of 16, level 3 by blocks of 256, of which two
# entries share a word. Level 2 follows from the number of prefixes alone, with one number fitted to rrc00; how
# many prefixes are longer than 24 bits cannot be told from their number, so level 3 is taken from the table. The last
# row is a synthetic table of rrc02's size, built and counted.

# %%
rows, f = [], facts()
for name in ("rrc00", "rrc01", "rrc02", "rrc16"):
    prefixes, third = (f.value(f"gorilla.fig6.{name}.{key}") for key in ("prefixes", "level3"))
    second = storage.level2_entries(prefixes, p.sites_share)
    printed = {key: ledger[f"gorilla.fig6.{name}.{key}"].point for key in ("level2", "total")}
    rows.append(
        (
            name,
            prefixes,
            storage.LEVEL1,
            second,
            printed["level2"],
            third,
            storage.words(second, third),
            printed["total"],
        )
    )
columns = ["table", "prefixes", "level 1", "level 2", "printed", "level 3", "words", "printed words"]
routes = storage.synthetic_routes(274_115, p.sites_share, np.random.default_rng(1), long_share=0.003)
made = storage.storage_of(*routes)
rows.append(("synthetic", *made[:3], ledger["gorilla.fig6.rrc02.level2"].point, *made[3:], None))
counts = [(name, *(None if n is None else int(n) for n in numbers)) for name, *numbers in rows]
plot.table(pd.DataFrame(counts, columns=columns, dtype=object), left=["table"])

# %% [markdown]
# Of IPv6 the paper prints no table. Level 2 of a trie with 20 bits first, of a real table and random parts of it, and
# of synthetic tables of the same sizes:

# %%
rows = []
for prefixes, blocks in storage6.measured():
    value, _ = storage6.synthetic_routes6(p, prefixes, np.random.default_rng(3))
    second = len(np.unique(value >> np.uint64(44))) << storage6.SECOND
    real = round(blocks) << storage6.SECOND
    rows.append((prefixes, real, storage6.level2_entries6(p, prefixes), second, f"{100 * (second / real - 1):+.1f} %"))
columns = ["prefixes", "level 2", "formula", "synthetic table", "off"]
plot.table(pd.DataFrame(rows, columns=columns))

# %% [markdown]
# ### Reads and channels *(Fig. 7)*
#
# A channel gives a read each clock of 300 MHz (QDRII), or 600 million (QDRII+). Four channels fit; where that is not
# enough, "without memory" is the traffic that must need no memory at all. The printed channel counts follow from these
# reads; the printed shares of 27, 42 and 69 % do as well if a packet without memory leaves others no more than two
# thirds of its reads.

# %%
rows = []
operations = {"lu": "lookup", "lufc": "lookup, counting"}
for rate in (100, 200):
    for op in operations:
        for proto in ("ipv4", "ipv6"):
            row = {"Mpps": rate, "operation": f"{names[proto]} {operations[op]}", "reads": channels.reads(proto, op)}
            for memory, named in (("qdrii", "QDRII"), ("qdriiplus", "QDRII+")):
                at = np_.with_(memory=memory).parameters
                key = f"gorilla.fig7.{rate}.{proto}.{op}.{memory}.mpls_share"
                row[f"{named} channels"] = channels.channels_needed(at, {proto: 1.0}, op, rate * 1e6)
                row[f"{named} without memory"] = (
                    f"{channels.share_without_memory(at, proto, op, rate * 1e6):.0%}".replace("%", " %")
                )
                row[f"{named} printed"] = f"{ledger[key].point:g} %"
            rows.append(row)
plot.table(pd.DataFrame(rows))

# %% [markdown]
# ## Rates
#
# ### 100 Mpps on 8 clusters *(Fig. 9)*
#
# Blue keeps up; what is lost shades to red. Flow counting looks up both addresses and reads three counters.

# %%
few = ("ipv4", "ipv6", "mpls_1", "mpls_4", "mpls_1_ipv4")
fig9 = performance.configurations(quick, 8, "v6hx380t", traffic=few, rate_mpps=100.0)
drawings.rates(fig9, title="Offered 100 Mpps, 8 clusters", source=100, names=names)

# %% [markdown]
# ### 200 Mpps on 16 clusters *(Fig. 10)*
#
# Twice of everything but the memory: with flow counting four channels serve 133 Mpps of IPv4 and 80 of IPv6, whatever
# the engines do. The paper has 200 with counting in two configurations. With the six channels that its own table asks
# for it is the same two, and no other: rates were measured over memories inside the device, it seems.

# %%
fig10 = performance.configurations(quick, 16, "v7855t")
drawings.rates(fig10, title="Offered 200 Mpps, 16 clusters, four channels", source=200, names=names)

# %%
more = performance.configurations(quick.with_(memories="internal"), 16, "v7855t", traffic=("ipv4",), counting=("on",))
counted = {"flow_counting": "on", "memories": "internal"}
columns = ["configuration", "mpps", "bottleneck"]
plot.table(more[columns].rename(columns=heads).assign(channels=p.internal_channels), digits=4)

# %% [markdown]
# ### Area *(Fig. 12)*
#
# Engines times (logic + threads), one factor between the devices; three cells are fitted.

# %%
rows = []
for device, clusters in (("v6hx380t", 8), ("v7855t", 16)):
    for engines, threads in performance.SIX:
        row = ledger[f"gorilla.fig12.{device}.e{engines}.t{threads}"]
        share = 100 * area.lut_share(p, device, clusters * engines, threads)
        rows.append((device, f"{clusters}-{engines}-{threads}", share, row.point, row.role))
plot.table(pd.DataFrame(rows, columns=["device", "configuration", "LUT %", "printed", "role"]), digits=3)

# %% [markdown]
# ### Throughput against area *(Fig. 11)*
#
# IPv4 alone on a Virtex-5, 100 Mpps offered. The paper finds that threads raise throughput per area. By its own other
# claims they cannot, from one thread to four: 16-6-1 keeps 200 Mpps, so a packet stays at most 48 cycles; 16-4-4 does
# not, so it needs more than 32 of the engine; that is less than 1.5 in rate for 1.85 in area of engines for all
# protocols, and for 2.33 of those for IPv4 alone, whose logic is smaller and whose threads are not.

# %%
sizes = [(e, t) for e in (2, 4, 6) for t in (1, 2, 4)]
fig11 = performance.configurations(
    quick.with_(protocols="ipv4"),
    8,
    "v5tx240t",
    traffic=("ipv4",),
    sizes=sizes,
    counting=("off",),
    protocols=("ipv4",),
    rate_mpps=100.0,
)
shown = fig11.melt(["engines", "threads"], ["mpps", "mpps_per_context", "mpps_per_area"], "measure", "value")
shown["relative"] = shown["value"] / shown.groupby("measure")["value"].transform("max")
curves(
    shown.assign(engines=shown["engines"].map("{} engines".format)), "threads", "relative", "engines", panel="measure",
    panel_names={"mpps": "Mpps", "mpps_per_context": "per context", "mpps_per_area": "per area"},
    title="Throughput, per context and per area (relative to the best)", x_title="threads",
    y_title="share of the best", x_values=(1, 2, 4), hover=("value",),
)  # fmt: skip

# %%
plot.table(fig11[["configuration", "mpps", "mpps_per_context", "mpps_per_area", "lut"]].rename(columns=heads), digits=4)

# %% [markdown]
# What would turn it? Gain in rate per area from one thread to four, with two, four and six engines. A fixed part of the
# device, the same for all, makes threads cheap, and engines too: with 5 % of it more engines of one thread pay, which
# the paper denies. Longer lookups do it for two and four engines, from 48 or 64 cycles on. Six engines forward the
# offered 100 Mpps with one thread, so that threads pay only from 96 cycles on, where 8-4-4 no longer keeps it. The
# fitted 12 cycles are those of memories inside the device; how long a lookup takes on the Virtex-5 is not printed.

# %%
rows = []
for delay in (12, 48, 96):
    at = fig11 if delay == 12 else performance.configurations(
        quick.with_(protocols="ipv4", lookup_delay=delay), 8, "v5tx240t", traffic=("ipv4",),
        sizes=[(e, t) for e in (2, 4, 6) for t in (1, 4)], counting=("off",), protocols=("ipv4",), rate_mpps=100.0,
    )  # fmt: skip
    for fixed in (0.0, 0.2):
        each = at.set_index(["engines", "threads"]).eval(f"mpps / (lut + {fixed})")
        rows.append((delay, 100 * fixed, *(each[e, 4] / each[e, 1] for e in (2, 4, 6)), each[6, 1] / each[2, 1],
                     each[6, 4] / each[2, 4], at.set_index("configuration")["mpps"]["8-4-4"]))  # fmt: skip
columns = ["lookup (cycles)", "fixed part (% of the device)", "threads, 2 engines", "4 engines", "6 engines",
           "6 engines for 2, 1 thread", "4 threads", "8-4-4 (Mpps)"]  # fmt: skip
plot.table(pd.DataFrame(rows, columns=columns), digits=3)

# %% [markdown]
# An engine for IPv4 alone moves shorter headers: that is what lets 8-4-4 keep 100 Mpps where 16-4-4 for all protocols
# loses some of 200. The integrated system has four interfaces of 10 Gb/s: at most 59.5 Mpps of minimum-size packets on
# the wire. The 100 Mpps of 8-4-4 are those of the embedded test system, with generators inside the device.

# %% [markdown]
# ### Threads, delay, scheduler *(Fig. 13)*
#
# By cycles alone 2.0 threads fill an engine with a short lookup and 4.9 with a long one; because threads meet at
# their engine, it takes six, and eight to twelve. Strict turns wait for whose turn it is: a packet
# calls three times with different delays, so that a header check waits behind a lookup of 128 cycles. A thread that
# keeps its engine to the end of a packet makes further threads useless.

# %%
fig13 = performance.threads_and_delay(np_, (1, 2, 3, 4, 6, 8, 12, 16))
labels = {"ready": "ready, every cycle", "ready_on_stall": "ready, on a stall", "round_robin": "strict turns",
          "packet_end": "turns at the end of a packet"}  # fmt: skip
curves(
    fig13, "threads", "mpps", "scheduler", panel="delay", names=labels,
    panel_names={32: "a lookup of 32 cycles", 128: "of 128 cycles"},
    title="8 clusters of 2 engines, IPv4", x_title="threads in an engine", y_title="Mpps", hover=("bound_mpps",),
)  # fmt: skip

# %%
plot.table(performance.fewest_threads(fig13).replace({"scheduler": labels}).rename(columns=heads))

# %% [markdown]
# ### What schedulers and arbiters take
#
# Counted from registers, multiplexers and comparators: a reorder queue and the choice among ready threads, and fair
# local arbiters, beside the engines of Fig. 12. The paper prints 10 to 15 % and 8 % for large configurations. The
# estimate came after those numbers were known.

# %%
rows = []
for engines, threads in ((4, 2), (4, 4), (6, 2), (6, 4)):
    at = np_.with_(engines=engines, threads=threads).parameters
    more = structures.overheads(at)
    memory = structures.overheads(at.with_(lut_structures="lut_ram"))["ready"]
    ram = structures.block_ram(at)
    rows.append((f"16-{engines}-{threads}", *(f"{100 * x:.1f} %" for x in (more["ready"], memory, more["fair"])),
                 ram["bits"] / 1e6, ram["blocks"]))  # fmt: skip
columns = ["configuration", "reorder queue", "of LUTs as memory", "fair local arbiters", "scratchpads (Mb)",
           "blocks of 18 Kb"]  # fmt: skip
plot.table(pd.DataFrame(rows, columns=columns), digits=3)

# %% [markdown]
# So a reorder queue pays where lookups are long: rate for each per cent of the Virtex-6, 8 clusters of 2 engines.

# %%
paid = performance.per_area(np_, fig13[fig13["scheduler"].isin(["ready", "round_robin"])])
curves(
    paid, "threads", "mpps_per_area", "scheduler", panel="delay",
    names={"ready": "ready, reorder queue", "round_robin": "strict turns"},
    panel_names={32: "a lookup of 32 cycles", 128: "of 128 cycles"}, title="Rate per area, IPv4",
    x_title="threads in an engine", y_title="Mpps for 1 % of the LUTs", hover=("mpps", "lut"),
)  # fmt: skip

# %% [markdown]
# The board's processor took less than 4 W in its core logic. No activity is stated, so no power is computed; 16-3-2
# for IPv4 alone takes 59 % of its LUTs here, 55 % in the paper.

# %% [markdown]
# ## Arbiters, balancing, order
#
# ### Fair where it matters
#
# With flow counting the memory is full. Fair arbiters among the clusters reach its bound of 133 Mpps, and unfair local
# ones below them cost little: the paper's choice. With fixed priorities among clusters the last ones starve; headers
# go to clusters in turn, so that a full FIFO holds back all. Where headers avoid full FIFOs less is lost, and nothing
# where any free thread takes the next one.

# %%
kinds = ("fair", "unfair")
arbiters = {f"global {a}, local {b}": {"global_arbiter": a, "local_arbiter": b} for a in kinds for b in kinds}
unfair = {"global_arbiter": "unfair", "local_arbiter": "unfair"}
arbiters |= {
    "all unfair, shortest line": {**unfair, "balancing": "shortest"},
    "the same, exit in any order": {**unfair, "balancing": "shortest", "reorder": "off"},
    "all unfair, any free thread": {**unfair, "balancing": "ideal"},
}
plot.table(performance.compared(quick, arbiters, flow_counting="on").rename(columns=heads), digits=4)

# %% [markdown]
# Whom it hits: the mean time of a packet in the quickest and in the slowest cluster, and Jain's index of the times of
# all sixteen, 1 if they are alike. Packets come as fast as they are taken.

# %%
four = {name: chosen for name, chosen in arbiters.items() if "balancing" not in chosen}
plot.table(performance.fairness(quick, four, flow_counting="on").rename(columns=heads), digits=4)

# %% [markdown]
# ### From 100 to 300 MHz
#
# A read is a third of the core's cycle. It passes for a token of the memory's clock that is asked for and given at
# edges of the core's: three of them in a cycle. Beside it reads that pass whenever their turn comes. With edges each
# lookup is later by up to a cycle, which one thread an engine feels where the memory is nearly full; no claim on rates
# turns.

# %%
crossed = {
    f"{name}, {kind}": {**knobs, "crossing": kind}
    for name, knobs in {
        "16-6-1": {"threads": 1}, "16-6-4": {}, "16-6-1, counting": {"threads": 1, **counted},
        "16-6-4, counting": counted,
    }.items()
    for kind in ("free", "tokens")
}  # fmt: skip
columns = ["choice", "mpps", "p99_ns", "reads_busy", "engines_busy"]
plot.table(performance.compared(quick, crossed)[columns].rename(columns=heads), digits=4)

# %% [markdown]
# ### Static balancing and mixed traffic
#
# Headers go to clusters in turn. Labels and IPv4 come alternately: the FIFO of a cluster that has got too much IPv4
# holds back all behind it. The shortest line mends it, as the paper expects.

# %%
mixed = {"labels alone": {"proto": "mpls_1"}, "IPv4 alone": {"proto": "ipv4"}} | {
    f"mixed, {how}": {"proto": "mpls_1_ipv4", "balancing": how} for how in ("in_turn", "random", "shortest")
}
plot.table(performance.compared(np_, mixed, engines=4, rate_mpps=220.0).rename(columns=heads), digits=4)

# %% [markdown]
# ### Exceptions, control packets, table updates
#
# Packets for the control processor leave early. Table updates go through the data path: a control packet withdraws
# routes, the next one announces them again, and each writes the words of the trie that change. Those hold packets back
# where the write ports are full (4 x 300 million words a second), and packets in between find the table changed: what
# has no route any more is dropped. Packets without time to live are found out at the lookup's end, as in the golden
# router.

# %%
others = {
    "none": {},
    "5 % without time to live": {"exceptions": 0.05},
    "5 % for the processor": {"controls": 0.05},
    "5 % updates of 8 routes": {"controls": 0.05, "update_routes": 8},
    "5 % updates of all routes": {"controls": 0.05, "update_routes": 64},
    "4 labels of the far table": {"proto": "mpls_4", "label_tables": "cold"},
}
plot.table(performance.compared(quick, others).rename(columns=heads), digits=4)

# %% [markdown]
# ## Virtual routers *(Fig. 14)*
#
# Ten routers of 10 Gb/s for MPLS, IPv4 or both: each alone, all as one, or merged where they have a protocol in common
# and the area gets smaller. The text names two of its six configurations; the others here are chosen. Groups are
# written as in the paper: M for MPLS, I for IPv4, B for both; 8M is eight routers merged, 1I+1B two of different kinds.

# %%
rows = []
for configuration in virtual_routers.CONFIGURATIONS.value:
    for method in virtual_routers.METHODS:
        parts = virtual_routers.consolidate(np_, configuration, method)
        rows.append((configuration, method, virtual_routers.area(parts), virtual_routers.grouping(parts)))
fig14 = pd.DataFrame(rows, columns=["configuration", "method", "area", "groups"])
drawings.groups(fig14, title="Ten virtual routers on a Virtex-7")

# %%
plot.table(fig14[fig14["method"] == "protocol"], digits=3)

# %% [markdown]
# What a router has beside engines decides. No fixed part fits all that the paper says: the groups of 8.1.1 and the 15 %
# against merging ask for almost none, the 33 % against isolation for 3.5 %, the group of 1.8.1 for 6 %.

# %%
rows = []
for fixed in (0.0, 0.2, 0.4, 1.0, 2.0, 3.5, 6.0, 8.0):
    eight, one = (
        virtual_routers.grouping(virtual_routers.consolidate(np_, c, "protocol", fixed=fixed))
        for c in ("8.1.1", "1.8.1")
    )
    saved = [100 * virtual_routers.saving(np_, against, fixed) for against in ("isolated", "merged")]
    rows.append((fixed, eight, one, *saved))
columns = ["fixed part (% of the Virtex-6)", "8.1.1", "1.8.1", "saved against isolated (33 %)", "against merged (15 %)"]
plot.table(pd.DataFrame(rows, columns=columns), digits=3)

# %% [markdown]
# ## Which cycles are consistent with all claims?
#
# The one number pins 49 cycles for four labels with flow counting; how they divide into steps and the rest, and how
# long a lookup takes, is open. The map counts the judged claims on one configuration that hold by the bounds of engines
# and threads. At the best places one is wrong: 16-6-2 loses labels, since two threads alternate, which bounds do not
# know and the simulation does. That 8-4-4 keeps 100 Mpps, where 16-4-4, loaded alike, does not keep 200, holds because
# headers of IPv4 alone are a word shorter, and only for two cycles a step.

# %%
admissible = claims.admissible(np.arange(0.5, 2.76, 0.25), range(2, 22, 2))
step = p.request_cycles + p.edit_cycles
drawings.admitted(admissible, (step, p.lookup_cycles), title=f"Claims that hold, of {admissible['claims'].max()}")

# %%
never = next(line["baseline_error"] for line in check.scores() if line["claims"] and line["group"].startswith("rates"))
headline("of the claims on rates hold as well if no packet is ever lost", f"{100 * (1 - never):.0f} %")

# %% [markdown]
# ## What the solvers say
#
# Here any free thread takes the next header, and supply is endless: one pool of threads that shares engines and memory.
# Queueing knows that times are constant, and that a thread computes on its own engine alone.

# %%
ideal = np_.with_(balancing="ideal", rate_mpps=0.0)
rows = []
for proto in ("ipv4", "ipv6", "mpls_1", "mpls_4"):
    at = ideal.with_(proto=proto)
    rows.append((names[proto], *(solve.rate_pps / 1e6 for solve in (at.bounds(), at.queueing(), at.simulate()))))
plot.table(pd.DataFrame(rows, columns=["traffic", "bounds", "queueing", "simulated"]), digits=4)

# %% [markdown]
# ## Beyond the paper: less memory
#
# Hierarchical counting and compressed tables are proposed and not built. With small counters inside the device, of
# which each 16th packet flushes the largest (Shah and others, 2002), an update takes 3/16 of a read; a first level of
# the trie that keeps one entry for each run of alike ones (Degermark and others, 1997) fits inside, and a lookup reads
# once less. Either alone leaves 200 Mpps of IPv4 beyond four channels, both together need three. A cache spares more
# where it hits: here the addresses of the packets run through a cache in each cluster that keeps the 32 used last, half
# of the routes there are; another traffic would hit it more or less often.

# %%
drawings.budget(
    beyond.budget(p, 200e6),
    p.channels,
    title="Channels for 200 Mpps with flow counting (dashed: four fit)",
    names=names,
)

# %%
spared = performance.compared(quick, beyond.CHOICES, flow_counting="on")[
    ["choice", "mpps", "reads_busy", "engines_busy"]
]
plot.table(spared.rename(columns=heads), digits=4)

# %% [markdown]
# Inside the device they take, of the synthetic table with 32 next hops and of a million flows:

# %%
hops = np.random.default_rng(2).integers(0, 32, len(routes[0])).astype(np.int32)
level = beyond.compressed_first_level(Trie20_4_8.from_columns(*routes, hops))
bits = beyond.small_bits(beyond.FLOWS, 16)
rows = [
    ("first level as it stands", 18 * len(level.begins) / 1e6), ("first level, compressed", level.bits / 1e6),
    (f"small counters of {bits} bits", bits * beyond.FLOWS / 1e6), ("block RAM of the Virtex-6", p.block_ram_mb),
]  # fmt: skip
plot.table(pd.DataFrame(rows, columns=["what", "Mb"]), digits=3)

# %% [markdown]
# ## Is the paper consistent with itself?

# %%
found = audit(["gorilla"])
headline(
    "identities between printed numbers that fail", f"{sum(f.verdict == 'inconsistent' for f in found)} of {len(found)}"
)

# %%
plot.identity_table(found)
