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
# # A server of today: how many cores does a packet program need?
#
# A six-core server with 100-Gbit cards drops, sends on, routes and filters packets of 64 bytes under Linux, XDP and
# DPDK. The authors of XDP measured it (CoNEXT 2018). The cycles that a program spends on a packet are calibrated on its
# measured rate with one core; all other results follow from cores, rings, links, completions and tables. For a withheld
# measurement the page shows the model's number without a verdict.

# %%
import pandas as pd

import npexplore as npx
from npexplore import plot
from npexplore.ledger import load
from npexplore.plot import curves
from npexplore.report import headline, paper_screen, scores
from npexplore.study import read_results

plot.use_theme()
ledger = load()
check = npx.check(["server"], seeds=1)
rows = check.to_frame()
CONDITIONS = (
    "stack",
    "program",
    "cores",
    "ring",
    "cqe_compress",
    "flows",
    "table",
    "load_mpps",
    "attack_mpps",
    "protection",
)
rows = rows.assign(**{name: [ledger[key].conditions.get(name) for key in rows["key"]] for name in CONDITIONS})
rows["best_number"] = rows["simulated"].fillna(rows["bounds"])

# %%
dropping = [npx.design("server").with_(program="drop", ring=512, cores=n).bounds(npx.workload(packet_bytes=64))
            for n in range(1, 7)]  # fmt: skip
alone, full = dropping[0], next(n for n, one in enumerate(dropping, 1) if one.bottleneck != dropping[0].bottleneck)
shown = {f"xdp.drop.no_touch.r512.c{n}": f"XDP drops, {n} cores" for n in range(2, 7)}
shown |= {f"xdp.route.linux.single.c{n}": f"Linux routes, {n} cores" for n in range(2, 7)}
paper_screen(
    check,
    {
        "How many cores?": f"One core drops {alone.rate_pps / 1e6:.0f} million packets of 64 bytes a second; more than "
        f"{full} help no more: {full} reach {dropping[full - 1].rate_pps / 1e6:.0f} million, 6 the same.",
        "What binds?": f"The {alone.bottleneck} itself with fewer than {full} cores, and from there the link to the "
        f"host ({dropping[-1].bottleneck}).",
    },
    shown,
    tries={"rings against the cache": "#Rings-against-the-cache", "your own box": "#Your-own-box"},
    who="the authors of XDP measured",
    source="measurements",
    play="server",
)  # fmt: skip


# %%
def rates(of: pd.DataFrame, x: str, title: str, **more: object):
    lines, marks = of.rename(columns={"simulated": "mpps"}), of[of.point.notna()].rename(columns={"point": "mpps"})
    return curves(lines.sort_values(x), x, "mpps", "line", published=marks, title=title, x_title=x,
                  y_title="million packets a second", **more)  # fmt: skip


# %% [markdown]
# ## Dropping packets: cores, then the bus
#
# One core drops 24 million packets a second. With four cores the link to the host is the bottleneck: a packet takes 60
# bytes, its completion 64 bytes, and both have headers, so the link carries 84 million packets a second (measured: 87).
# With packed completions the link carries more packets than the traffic generators send.

# %%
drops = rows[rows.key.str.startswith("xdp.drop.") & (rows.quantity == "forwarding rate") & rows.ring.notna()]
drops = drops.assign(
    line=drops.program.str.replace("drop_read", "read and drop") + ", ring " + drops.ring.astype("Int64").astype(str),
    told=drops.cqe_compress.map({"off": "a completion a packet", "on": "packed completions"}),
)
rates(drops, "cores", "Packets dropped a second by XDP: simulated lines, measured marks", panel="told", height=480)

# %%
limit = npx.design("server").with_(program="drop", ring=512, cores=6).bounds(npx.workload(packet_bytes=64))
headline(f"million packets a second at six cores, bound by {limit.bottleneck} (measured: 87.1)", limit.rate_pps / 1e6)

# %% [markdown]
# ## Rings against the cache
#
# Packets start at the same place of their pages, which takes a set in 64 of the third cache: it holds 3,840 of them,
# whatever they are long. Buffers at these addresses go through the caches one by one. Four queues of 1,024 are more:
# each round of the rings then throws packets out before a core has read them. Smaller rings
# cure it. The measured rows are withheld; this is what the model says.

# %%
sent = rows[rows.program.isin(["tx", "redirect"]) & (rows.quantity == "forwarding rate") & rows.ring.notna()]
sent = sent.assign(line="ring " + sent.ring.astype("Int64").astype(str))
rates(sent, "cores", "Packets sent on by XDP, by receive ring", panel="program")

# %% [markdown]
# ## Routing: one route, a full table, many flows
#
# Linux shares lines between its cores and loses 2.5 % of a core for each further one; a program in the driver shares
# nothing. With a full table each flow walks its own part of the trie: its branches, then the first and the second
# cache.

# %%
routed = rows[
    (rows.program == "route")
    & rows.cores.notna()
    & (rows.quantity == "forwarding rate")
    & ~rows.key.str.startswith("xdp.flows")
]
routed = routed.assign(
    line=routed["stack"]
    + ", "
    + routed["table"]
    + " table"
    + routed.ring.map(lambda r: "" if pd.isna(r) else f", ring {r:.0f}")
)
rates(routed, "cores", "Packets routed a second", height=480)

# %%
flows = rows[rows.key.str.fullmatch(r"xdp\.flows\.f\d+")].assign(line="XDP, full table, one core").sort_values("flows")
rates(flows, "flows", "One core over the number of flows", log_x=True)

# %% [markdown]
# ## Under attack
#
# Pairs of a question and an answer of one TCP connection, beside packets that somebody floods the server with. With a
# filter in the driver the receive core drops the flood until it is full, and then both alike; without one the server
# shares that core with the flood.

# %%
attack = rows[rows.quantity == "transaction rate"].assign(
    line=lambda t: t.protection.map({"on": "filter in the driver", "off": "no filter"})
).sort_values("attack_mpps")  # fmt: skip
curves(
    attack.rename(columns={"best_number": "answers"}),
    "attack_mpps",
    "answers",
    "line",
    published=attack[attack.point.notna()].rename(columns={"point": "answers"}),
    title="Transactions beside a flood",
    x_title="million packets a second of the flood",
    y_title="transactions a second",
)

# %% [markdown]
# ## Score
#
# The reader without a model multiplies one core by the cores, or takes what lies between two visible rows.
# Nearly all of the skill is one row, long packets at the line's rate; of several cores alone the model adds little. No
# visible check row has several cores and rings of 1,024: what is shown of them above is tested by nothing here.

# %%
scores(check)


# %%
def place(row) -> str:
    """Return the conditions of a row in words."""
    given = ledger[row.key].conditions
    shown = {"ring": "ring {}", "load_mpps": "{} Mpps offered", "attack_mpps": "a flood of {} Mpps"}
    shown |= {"protection": "filter {}", "cqe_compress": "packed completions {}", "table": "{} table"}
    words = [str(given[name]) for name in ("stack", "program") if name in given]
    words += [text.format(given[name]) for name, text in shown.items() if name in given]
    cores = int(given.get("cores", 1))
    return ", ".join([*words, f"{cores} core{'s'[: cores > 1]}"]).replace("_", " ")


visible = rows[rows.error.notna() & (rows.role == "check")]
plot.cross_check_table(visible, {row.key: place(row) for row in visible.itertuples()}, height=None)

# %% [markdown]
# ## Your own box
#
# Three measurements make this machine yours: the rate at which **one core** of your program drops or forwards
# (`testpmd`, `pktgen` and `ethtool -S`), the **clock** of a busy core (`perf stat -e cycles`), and the **rate at
# which more cores help no more**. The first two give the cycles, the third the link; a CSV of them and of whatever
# else you measured joins the ledger (docs/server.md; `npexplore new box --ledger server`). This one is a box that
# does not exist: 211 cycles, eight lanes.

# %%
MINE = npx.bundled_path("models/template/box.csv")
box = read_results(MINE)
fitted = npx.calibrate(
    {"own_cycles": npx.Span(100, 400), "pcie_lanes": [8, 16]}, [], of="server",
    own=[row for row in box.own if row.role == "calibration"], solver="bounds", profiles=False,
)  # fmt: skip
mine = npx.design("server").with_(**fitted.best.values)
own = pd.DataFrame(npx.check(["server"], keys=[], seeds=2, results=box, machines={"server": mine}).results)
own["error %"] = 100 * (own.predicted / own.value - 1)
shown = own[["role", "quantity", "value", "predicted", "error %", "our_verdict"]].round(2)
plot.table(shown.rename(columns={"our_verdict": "verdict", "value": "measured", "predicted": "model"}))

# %%
mine = mine.with_(program="own", clock_mhz=3000.0, egress="same_port")
found = [(n, mine.with_(cores=n).bounds(npx.workload(packet_bytes=64))) for n in (1, 2, 3, 4, 8)]
table = [(n, one.rate_pps / 1e6, one.bottleneck) for n, one in found]
plot.table(pd.DataFrame(table, columns=["cores", "million packets a second at most", "what binds"]).round(1))

# %% [markdown]
# ## What stays out of reach
#
# - **Which core starves** when four rings share the cache: the model knows shares, not whose lines go.
# - **The worst packet** of a latency measurement: nothing here draws one.
# - **Another card's limit** (`xl710`): its rate with one core is taken for the card's.
# - The link's width, payload and request size were not stated; the plateau's 4 % may lie there.
