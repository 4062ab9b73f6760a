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
# # IXP1200: a DiffServ edge router
#
# What holds a network processor back when every packet is classified, policed, marked and scheduled? Plain forwarding
# runs at wire speed; with DiffServ the bottleneck is a microengine, the SRAM, or the wait for it, depending on threads,
# rules and the classifier.

# %%
import pandas as pd

import npexplore as npx
from npexplore import plot
from npexplore.golden import FiveTuple, RangeMatcher, load_rules
from npexplore.ledger import audit, load
from npexplore.papers import tables as data
from npexplore.papers.ixp1200 import accounts, diffserv
from npexplore.papers.ixp1200 import performance as edge
from npexplore.papers.ixp1200 import remedies as remedy
from npexplore.plot import comparison, curves, published_levels
from npexplore.plot import ixp1200 as drawings
from npexplore.report import headline, paper_screen, precomputed, row_sentences, scores
from npexplore.study import Simulations

plot.use_theme()
ledger = load()
router = npx.design("ixp1200")
facts = router.parameters

# %%
check = npx.check(["ixp1200"], seeds=2)
simulations = Simulations.of(check.predictions)
judged = check.to_frame()
told = row_sentences(check)
full = {rules: router.with_(rules=rules).bounds() for rules in (1, 512)}
paper_screen(
    check,
    {
        "How fast?": f"Plain forwarding runs at {told('ixp1200.ipfwd.throughput')}; with DiffServ the whole system "
        f"does {told('ixp1200.diffserv.throughput.max')} with few rules, and with 512 of them "
        f"{told('ixp1200.diffserv.throughput.min')}.",
        "What binds?": f"With 1 rule the third engine ({full[1].bottleneck}); with 512 the engines of the receivers "
        f"({full[512].bottleneck}), and the SRAM of the rules is {full[512].utilization['sram'].busy:.0%} busy. "
        "Four threads on one engine do the work of "
        f"{told('ixp1200.fig10.four_threads_one_me.ratio')}.",
    },
    {"ixp1200.ipfwd.throughput": "plain forwarding", "ixp1200.diffserv.throughput.max": "DiffServ, few rules",
     "ixp1200.diffserv.throughput.min": "DiffServ, 512 rules", "ixp1200.fig9.lossfree": "one flow, nothing lost",
     "ixp1200.table1.ls.receivers.utilization": "engines of receivers, busy",
     "ixp1200.table1.ls.me2.utilization": "third engine, busy",
     "ixp1200.table1.ls.sram.utilization": "SRAM, busy", "ixp1200.table1.ls.sdram.utilization": "SDRAM, busy",
     "ixp1200.table2.rm.sdram.utilization": "SDRAM, range matching",
     "ixp1200.fig10.two_threads_two_mes.ratio": "two threads over one"},
    tries={"its resources alone": "74_one_resource.html#Memory-banks",
           "what binds, thread by thread": "#What-binds?-The-double-bottleneck", "remedies": "#Which-remedy-helps?",
           "every printed number": "#Does-it-agree-with-what-was-published?"},
    play="ixp1200",
)  # fmt: skip

# %% [markdown]
# ## The machine as formulas
#
# The demands are counted, not assumed: the golden classifier, policer and queues run, and the SRAM words and
# instructions that they report drive the machine. Three numbers are fitted. All tables stay in variables: change a knob
# and run the page again.
#
# First: the packet rate that each resource alone would allow, lowest first, and the latency of a packet that never
# waits for another packet. Then: the knob values at which another resource becomes the bottleneck, if only that one
# knob changes.

# %%
router.formula()

# %% [markdown]
# ## The machine
#
# Six microengines of four threads share SRAM (tables, descriptors), SDRAM (packets) and the IX bus to nine MACs. A
# thread keeps its engine until it waits for a memory. Times are what a packet asks of each part with DiffServ and range
# matching; orange bars show how full each part is when the fullest is full. *(Fig. 1)*

# %%
demands = data.demands(router)
drawings.machine(demands, facts)

# %% [markdown]
# The ready bus finds a packet in a port's MAC and sets the flag that the port's receiver looks at. Packets move in MAC
# packets (MPs) of 64 bytes. *(Fig. 2)*

# %%
drawings.flow(demands)

# %% [markdown]
# Eight receivers are bound to the fast Ethernet ports, eight share the gigabit port. *(Fig. 3)*

# %%
drawings.roles(demands, facts)

# %% [markdown]
# Roles stay apart because control stores are small: of all combinations of programs only transmitter and scheduler fit.
# A machine with another pair is refused when it is built.

# %%
pairs = edge.role_pairs(router)
plot.table(pairs.assign(fits=pairs["fits"].map({True: "yes", False: "no"})))

# %% [markdown]
# A traffic generator fills the ports and counts what comes back. *(Fig. 5)*

# %%
drawings.test_bed(demands)

# %% [markdown]
# ## Range matching on live tables
#
# Rules cut a field into intervals; each interval has a vector with one bit for each rule that holds there. A packet is
# looked up by binary search in every field, the five vectors are ANDed, and the first bit that is set names the rule.
# Here with three rules on the source address. *(Fig. 4)*

# %%
example = RangeMatcher(load_rules(npx.bundled_path("models/rules/fig4.toml")), width=512)
plot.table(edge.intervals(example))

# %%
packet = FiveTuple(source="140.113.88.175", destination="10.0.0.1", source_port=1024, destination_port=80, protocol=17)
print("matches rule", example.match(packet) + 1, "- SRAM words read:", example.work(packet).words())
plot.table(edge.matching(example, packet))

# %% [markdown]
# ## Does it agree with what was published?
#
# **Label** follows from what was read for the value: `calibrated` if something was fitted to the row, or to rows from
# which it follows, `post hoc` if something was chosen after it or them, `arithmetic` if it tests no model, else
# `predicted`. Poll cost, the reading of vectors, SDRAM time and how
# transmitters wait, the SDRAM's banks, the header that is written twice and how much code transmitters run were
# chosen with the table of check rows in view, so every simulated check row is post hoc; only what is withheld is a
# prediction. *Hints* are assumptions taken over from a published prototype: queues of 64
# packets are one, behind Figs. 7 and 8. Instruction counts and latencies ascribed to Spalink et al. are from memory:
# their paper was not opened. No row tells the scale of the plain path (`scale_base`) from the one of DiffServ's
# modules: it is assumed to be 1. In one line a group, the errors stand beside those of a reader without a model;
# **skill** is 1 - error / error of the best reader, red where there is none.

# %%
plot.verdict_table(judged)

# %%
scores(check)

# %%
plot.cross_check_table(judged, {row.key: row.where for row in ledger})

# %%
numeric = judged[judged["error"].notna() & (judged["role"] == "check") & judged["same_as"].isna()]
headline("check numbers within 10 %", f"{(numeric['error'].abs() <= 0.1).sum()} of {len(numeric)}")

# %%
free = [(name, len(found), ", ".join(found)) for name, found in check.free_parameters.items()]
plot.table(pd.DataFrame(free, columns=["design", "free parameters", "which"]))

# %% [markdown]
# ## How does throughput fall with the rules?
#
# One port, one receiver, 64-byte packets, the last rule matches. Range matching reads half of each vector of 512 bits
# (eight words, what a thread has room for), the other half from 257 rules on, and searches longer with the logarithm of
# their number. Linear search reads a record a rule: the *time* of a packet grows linearly; up to 4 rules the port is
# the limit. The printed unit of the vertical axis is lost; its ticks fit thousands of packets a second. *(Fig. 6)*

# %%
classifiers = {"ls": "linear search", "rm": "range matching"}
fig6 = edge.over_rules(router, simulations=simulations)
curves(
    fig6, "rules", "rate_kpps", "classifier", title="One receiver against the number of rules", log_x=True,
    x_title="rules", y_title="thousand packets/s", hover=("bottleneck",), x_values=edge.RULES,
    names=classifiers,
)  # fmt: skip

# %% [markdown]
# R² of three shapes, `a - k log n`, `1 / (a + b n)` and `a - b n`:

# %%
shapes = edge.shapes(fig6)
plot.table(shapes.assign(classifier=shapes["classifier"].map(classifiers)))

# %% [markdown]
# ## What binds? The double bottleneck
#
# One thread waits for memory most of the time. Four threads fill their engine; eight fill two. With one rule all
# sixteen fill SRAM and transmitters, with many their engines: take one bottleneck away, and the other one is right
# behind it. *(Fig. 10)*

# %%
fig10 = edge.over_threads(router, simulations=simulations)
drawings.bottlenecks(fig10, title="What holds the receivers back (range matching)")

# %%
figure = curves(
    fig10, "configuration", "throughput_mbps", "rules", title="Throughput by threads", x_title="",
    y_title="throughput (Mb/s)", hover=("binds",), names={1: "1 rule", 8: "8 rules", 64: "64 rules", 512: "512 rules"},
    height=560,
)  # fmt: skip
names = {
    "ixp1200.diffserv.throughput.max": "published: whole system, most",
    "ixp1200.diffserv.throughput.min": "published: whole system, least",
    "ixp1200.diffserv.throughput.summary": "published: whole system, summary",
    "ixp1200.linux.rm.512": "published: Linux, 512 rules",
}
printed = npx.published().query("key in @names")
printed = printed.assign(label=printed["key"].map(names))
published_levels(figure, list(edge.CONFIGURATIONS), printed, "point", "label")
figure.update_xaxes(tickangle=0, tickvals=list(edge.CONFIGURATIONS),
                    ticktext=[name.replace(", ", "<br>") for name in edge.CONFIGURATIONS])  # fmt: skip

# %% [markdown]
# The general-purpose machine (an 800 MHz Pentium III under Linux) is context: its 20.5 Mb/s are what one thread of the
# IXP1200 does, and the model is calibrated to that thread.

# %%
whole = fig10.query("configuration == 'whole system'")
headline("whole system, range matching, 1 to 512 rules",
         f"{whole['throughput_mbps'].max():.0f} to {whole['throughput_mbps'].min():.0f} Mb/s")  # fmt: skip

# %% [markdown]
# ## Tables 1 and 2
#
# Three engines and eight ports in the vendor's simulator. The paper does not say how many rules; the ratio of the two
# tables' SDRAM rates is met with 41. Utilization of the SRAM counts words moved: with linear search it stops at 55 %
# because the SRAM never does better. Both receiver engines do the same here; the printed ones differ by 10 points,
# and their mean is judged.

# %%
table1, table2 = (data.compared(check, ledger, f"Table {n}") for n in (1, 2))
both = pd.concat([table1, table2]).query("quantity == 'utilization'")
both = both.assign(part=[key.split(".")[-2] for key in both["key"]])
comparison(
    both, lambda row: f"{row.part}, {classifiers[row.classifier]}", title="Active shares of the resources",
    panels=[("quantity == 'utilization'", "active (%)")],
)  # fmt: skip

# %% [markdown]
# **What moves through SDRAM?** Every transfer that the text describes, in clocks of 10 ns: row and column, words,
# precharge. The header is in transfer registers when it is marked, so it is written again over the packet's first MP;
# without that and without precharge and refresh the tables' shares are missed by 42 %.

# %%
plot.table(accounts.sdram_transfers(router))

# %% [markdown]
# What the printed shares ask for at the packet rates of the model, and what 1.8 Gb/s of plain forwarding leave: with
# 64-byte packets both cannot be, and what remains open is the length of one of them.

# %%
shares = {f"ixp1200.{name}.sdram.utilization": name.split(".")[1] for name in ("table1.ls", "table2.rm")}
rates = {key: simulations([router.with_(receivers=8, receiver_engines=2, classifier=kind)])[0].rate_pps
         for key, kind in shares.items()}  # fmt: skip
plot.table(accounts.sdram_asked(router, rates, ledger).rename(columns={
    "rate_kpps": "packets (thousand/s)", "asked": "clocks asked for", "model": "clocks in the model",
}))  # fmt: skip

# %% [markdown]
# **How much of its code does a packet run?** The paper prints the size of each program. A receiver that ran all 1012
# instructions would run 3.6 for each that golden code counts in DiffServ's modules; one thread's 20.5 Mb/s ask for 2.8,
# so four fifths run. For transmitters and scheduler golden code counts seven instructions and three accesses, forty
# times less than their code. The text allows these readings: golden code's count; the whole code once a packet; parts
# of it, queue by queue. Table 1's third engine decides against the first (47 % of its time, printed 68.5 %); the second
# is taken, and then the scheduler's empty looks on top are too many (78 %). Two engines that spend 696
# instructions on a packet send at most 294 Mb/s, about the most that is printed for the whole system.

# %%
plot.table(accounts.code_paths(router))

# %% [markdown]
# ## Priority and bandwidth control
#
# One EF and three AF flows from four ports share one output. Left policer, quanta and queues alone, receivers without
# limit: AF3 loses packets from 25 % load on, EF stops at its limit of 62,500 packets/s, AF classes share 2:1. Right
# the machine itself: threads, memories, leaky buckets, and transmitters that serve the queues by the discipline. Its
# receivers, two on each engine, bring EF to its limit. *(Fig. 7)*

# %%
loads = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
shared = pd.concat([
    diffserv.shared(diffserv.bench(router), loads).assign(reading="policer, quanta and queues alone"),
    diffserv.timed(router, loads).assign(reading="the machine itself"),
])  # fmt: skip
shared["delay_us"] = shared["delay_mean_ns"] / 1e3
curves(
    shared, "load", "sent_pps", "class", panel="reading", title="Four flows into one link: rates",
    x_title="load of each input", y_title="packets/s", hover=("policed", "queue_full", "buffer_full"),
).update_xaxes(tickformat=".0%", dtick=0.25)  # fmt: skip

# %% [markdown]
# Latencies part where the link is full; a lower AF class then waits twice as long as the next higher one. The machine
# adds 20 microseconds of receiving, and up to four packets in front of the line. *(Fig. 8)*

# %%
figure = curves(
    shared, "load", "delay_us", "class", panel="reading", title="Four flows into one link: mean latencies",
    x_title="load of each input", y_title="latency (µs)", hover=("queue_full",),
)  # fmt: skip
figure.update_xaxes(tickformat=".0%", dtick=0.25)
figure.update_yaxes(type="log", rangemode="normal", dtick=1, tickformat=",")

# %% [markdown]
# Which discipline transmitters follow is a knob. At full load, in the machine: all but strict priority leave the
# assured classes their shares; only those that look at priority first spare EF the wait for a round.

# %%
compared = [diffserv.timed(router.with_(discipline=name), [1.0]).assign(discipline=name)
            for name in ("priority_drr", "strict_priority", "drr", "wrr", "scfq")]  # fmt: skip
compared = pd.concat(compared).assign(delay_us=lambda t: t["delay_mean_ns"] / 1e3)
wide = compared.pivot(index="discipline", columns="class", values=["sent_pps", "delay_us"])
names = {"sent_pps": "packets/s", "delay_us": "µs"}
wide.columns = [f"{one} ({names[what]})" for what, one in wide.columns]
plot.table(wide.reset_index(), digits=4)

# %% [markdown]
# ## Fairness of 500 flows
#
# Every flow has a rule and a leaky bucket of its own, 148.8 packets/s. At half load all pass; at full load the buckets
# hold each flow to its limit. The receiver of the machine (one port, 500 rules) loses packets at half load already, and
# both rows are off: the paper's own Fig. 10 allows this thread 40,000 packets/s in the worst case, its Fig. 9 needs
# 74,400 in the average one. *(Fig. 9)*
#
# What separates the two cases is how much of its vectors a packet reads. If both numbers hold, vectors must take:

# %%
plot.table(edge.vector_time(ledger).rename(columns={
    "share": "share read in the average case", "vectors_us": "vectors, all words (µs)", "rest_us": "all else (µs)",
}), digits=3)  # fmt: skip

# %% [markdown]
# Read whole, the cases are one. In bursts of eight words, vectors would take longer than the packet. Word by word they
# would take nearly all of it, and then searches with the logarithm could not shape Fig. 6, nor would Table 1's engines
# be busy. No single cost of a word and a probe meets Figs. 6, 9 and 10 and the Tables at once; bursts meet all but
# Fig. 9.

# %%
readings = {
    "receivers without limit": diffserv.bench(router),
    "receivers of the machine": diffserv.coupled(router, 1, round(diffserv.limit_of("fig9.flows"))),
}
fig9 = pd.concat([diffserv.flows(bench, (0.5, 1.0)).assign(reading=name) for name, bench in readings.items()])
figure = curves(
    fig9.assign(load=fig9["load"].map("load {:.0%}".format)), "flow", "sent_pps", "load", step=True, height=400,
    panel="reading", title="Rate of each flow", x_title="flow", y_title="packets/s",
)  # fmt: skip
figure.update_yaxes(range=[60, 180], rangemode="normal")

# %% [markdown]
# ## Which remedy helps?
#
# The paper proposes four: routing table in SDRAM, banks or copies of the SRAM, quad data rate SRAM, a cache or content
# addressable memory. What a cache is worth depends on how soon packets of a flow come back. Its hit ratio is not
# assumed: it is the share of a capture's packets whose 5-tuple is among those used last. A traffic generator that sends
# 500 flows in turn, as for Fig. 9, never hits a smaller cache.

# %%
captures = {
    "web visit": "zeek_wikipedia.pcap", "browsing": "zeek_workshop_2011_browse.pcap",
    "industrial control": "zeek_modbus_modbusBig.pcap.gz",
}  # fmt: skip
packets = {name: npx.read_capture(npx.bundled_path(f"data/captures/{file}")).columns for name, file in captures.items()}
sources = remedy.of_captures(packets)
sources["500 flows in turn"] = remedy.in_turn(round(diffserv.limit_of("fig9.flows")))
hits = remedy.hit_ratios(sources)
figure = curves(
    hits, "entries", "hit", "source", title="Packets whose flow a cache holds", log_x=True,
    x_title="entries of the cache", y_title="hit ratio", x_values=remedy.ENTRIES,
)  # fmt: skip
figure.update_yaxes(range=[-0.03, 1.03], tickformat=".0%")

# %% [markdown]
# With one rule the SRAM binds: all remedies against it help until the engines are full. With 512 rules the engines are
# right behind, and only fewer searches help: a cache of flows, if traffic is local. Moving the routing table alone, or
# caching routes alone, frees one word of a hundred. Colours say what binds once a remedy is in place.

# %%
routes = {"web visit": packets["web visit"]}
gains = remedy.remedies(router, sources, simulations=simulations, routes=routes)
drawings.remedies(gains, title="Whole system with each remedy (caches of 16 entries)")

# %% [markdown]
# ## How much hangs on what the paper does not say?
#
# The fitted machine, changes of single assumptions, and structures with a fit of their own, beside the printed
# numbers. Each reading mends something and breaks something else:
#
# - one thread at 22 Mb/s, the upper end of what "almost the same as 20.5" may mean, brings the whole system within 5 %
#   with 512 rules and EF to its limit, but leaves Table 1's receiver engines too idle and its third engine too busy:
#   the middle of the band is kept, and its ends are shown;
# - the whole system's range is nearly met if SRAM takes 150 ns to answer and reaches 61 % of its pace, but then Table
#   1's share of SRAM, a calibration row, is missed by 8 %;
# - receivers that run their whole code once a packet cannot do what one thread, or the whole system, is printed to do
#   with few rules;
# - a scheduler that looks at all its ports in every look keeps its engine busy all the time;
# - vectors read whole lose a tenth of the whole system's range with few rules; read word by word they meet Fig. 9 and
#   miss Table 1;
# - silent idle threads and full SRAM efficiency move away from more printed numbers than they approach.

# %%
spread = edge.beside_published(precomputed(edge.structures, router, machines=["ixp1200"]), ledger)
shares = {f"{case}_{resource}": f"Table {1 + (case == 'rm')}: {resource}" for case, resource in edge.SHARES}
shown = spread.assign(**{name: 100 * spread[name] for name in shares}).rename(columns={
    "one_many": "1 thread, 512 rules (Mb/s)", "one_few": "1 thread, 1 rule (Mb/s)",
    "all_many": "all, 512 rules (Mb/s)", "all_few": "all, 1 rule (Mb/s)", "forwarding": "forwarding (Gb/s)",
    **{name: f"{text} (%)" for name, text in shares.items()}, "about": "note",
})  # fmt: skip
plot.table(shown, digits=3)

# %% [markdown]
# Do the functional tests hang on the length of queues, which came from a prototype? Rates, ratios and the load at which
# AF3 begins to lose packets do not:

# %%
queues = diffserv.over_queues(router, (16, 64, 256)).rename(columns={
    "queue": "packets a queue holds", "ef_pps": "EF (packets/s)", "share_ratio": "AF shares, class over class",
    "latency_ratio": "AF latencies, class over class", "drop_onset": "load from which AF3 loses packets",
})  # fmt: skip
plot.table(queues, digits=4)

# %% [markdown]
# Policers read the time from a timer that the StrongARM keeps. A tick longer than it takes to fill a bucket of eight
# packets at 62,500 packets/s, 128 µs, throws tokens away: EF then gets depth / tick instead of its limit. Ticking every
# microsecond would cost the SRAM two per cent of its time, if the timer's word lies there.

# %%
timers = diffserv.over_timers(router, (1, 10, 100, 200, 500, 1000))
timers = timers.assign(sram_share=100 * timers["sram_share"]).rename(columns={
    "tick_us": "tick (µs)", "ef_pps": "EF (packets/s)", "expected_pps": "least of limit and depth / tick",
    "sram_share": "SRAM busy with ticks (%)",
})  # fmt: skip
plot.table(timers)

# %% [markdown]
# What was assumed, or fitted to calibration rows, because no source states it:

# %%
plot.table(data.unstated(router), height=480)

# %% [markdown]
# ## Is the study consistent with itself?
#
# Identities between printed numbers; those that fail come first, with the likeliest explanation:

# %%
found = audit(["ixp1200_diffserv"])
headline(
    "identities between printed numbers that fail", f"{sum(f.verdict == 'inconsistent' for f in found)} of {len(found)}"
)

# %%
plot.identity_table(found)
