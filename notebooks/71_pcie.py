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
# # PCI Express: what a device gets from its host
#
# The link of a card with eight lanes of PCI Express 3.0 carries 63 Gb/s. How much of that do transfers of 64 or 2,048
# bytes get, and how much is lost to memory at the other CPU socket, to cache misses and to the IOMMU? pcie-bench
# (SIGCOMM 2018) measured six hosts. The device below is calibrated on one of them, `hsw2620`. Rows of the other hosts
# that no parameter was fitted to are compared with the model. These comparisons are post hoc: the measured values were
# known when the model was made. Withheld rows have no verdict.

# %%
import pandas as pd

import npexplore as npx
from npexplore import plot
from npexplore.ledger import load
from npexplore.plot import curves
from npexplore.report import headline, paper_screen, scores

plot.use_theme()
ledger = load()
keys = [
    row.key for row in ledger.select(design="pcie", roles=["calibration", "check", "withheld"])
    if row.role != "withheld" or (row.conditions["op"] == "read" and row.conditions["iommu"] == "off")
    or (row.conditions["host"], row.conditions.get("memory_socket")) == ("bdw2630", 0)
]  # fmt: skip
check = npx.check(["pcie"], keys=keys, seeds=1)
rows = check.to_frame().assign(**{
    name: [ledger[key].conditions.get(name) for key in check.to_frame()["key"]]
    for name in ("host", "op", "transfer_bytes", "window_bytes", "iommu", "memory_socket", "control_socket", "cache")
})  # fmt: skip
small = rows[rows.window_bytes.isna()]

# %%
reads = {size: npx.design("pcie").bounds(npx.workload(packet_bytes=size)) for size in (64, 2048)}
AT = "pcie.bdw2630.s0s0."  # the host that was not fitted, near socket
shown = {
    AT + "rd.b64": "reads of 64 bytes", AT + "rd.b512": "reads of 512 bytes", AT + "wr.b512": "writes of 512 bytes",
    AT + "rw.b128": "by turns, 128 bytes", AT + "rw.b2048": "by turns, 2,048 bytes",
    AT + "lat.rd.b1024": "a lone read of 1,024",
    AT + "lat.wrrd.b256": "a write, a read of 256", AT + "rd.b64.cold.w1m": "64 bytes, cold 1 MB",
    AT + "rd.b64.warm.w4m": "64 bytes, warm 4 MB", AT + "rd.b256.warm.w64m": "256 bytes, warm 64 MB",
}  # fmt: skip
paper_screen(
    check,
    {
        "How fast?": f"Reads of 64 bytes get at most {reads[64].throughput_bps / 1e9:.1f} Gb/s of a wire of 63, those "
        f"of 2,048 bytes {reads[2048].throughput_bps / 1e9:.1f}.",
        "What binds?": f"With 64 bytes how many reads are in flight ({reads[64].bottleneck}), with 2,048 the wire, "
        f"less headers and acknowledgements ({reads[2048].bottleneck}).",
    },
    shown,
    tries={"what each host adds": "#What-each-host-adds", "caches and translation": "#Caches-and-address-translation"},
    who="pcie-bench measured",
    source="measurements",
    play="pcie",
)  # fmt: skip

# %% [markdown]
# ## Rate over the size of a transfer
#
# Each point is a simulated design point: 88 workers, one transfer each. Writes of 64 bytes are bound by the device (a
# descriptor every 21 ns), reads of 64 bytes by how many of them it keeps in flight; from 512 bytes on the wire binds,
# less what headers, acknowledgements and flow control take. A byte beyond a payload costs a packet of its own.

# %%
both_hosts = small[
    small.host.isin(["hsw2620", "bdw2630"]) & (small.iommu == "off") & (small.quantity == "bandwidth")
    & (small.memory_socket == 0) & (small.control_socket == 0)
].sort_values("transfer_bytes")  # fmt: skip
curves(
    both_hosts.rename(columns={"simulated": "payload_gbps"}),
    "transfer_bytes",
    "payload_gbps",
    "op",
    panel="host",
    published=both_hosts.rename(columns={"point": "payload_gbps"}),
    log_x=True,
    height=480,
    x_values=[64, 128, 256, 512, 1024, 2048],
    panel_names={"hsw2620": "hsw2620 (calibration)", "bdw2630": "bdw2630 (check)"},
    title="Payload moved a second, by size: simulated lines, measured marks",
    x_title="bytes of a transfer",
    y_title="Gb/s, each direction",
)

# %%
seen = both_hosts[(both_hosts.host == "bdw2630") & both_hosts.error.notna()]
headline("median error at the host that was not fitted", 100 * float(seen.error.abs().median()), "%", tone="good")

# %% [markdown]
# ## What each host adds
#
# A host is known here by its payload, its request size, its cache and one lone read of 64 bytes. The far socket costs
# 124 ns; small reads then wait for their answers, and the device has only so many in flight. Rows that are withheld
# are shown without what was measured.

# %%
far = small[(small.op == "read") & (small.quantity == "bandwidth") & (small.iommu == "off")].assign(
    where=lambda t: t.host + ", memory " + t.memory_socket.astype(int).astype(str) + ", process "
    + t.control_socket.astype(int).astype(str)
)  # fmt: skip
table = far.pivot_table(index="where", columns="transfer_bytes", values="simulated").round(1)
table = table[[64, 65, 128, 256, 257, 512, 1024, 2048]].rename(columns=lambda size: f"{size:.0f} bytes")
plot.table(table.reset_index().rename(columns={"where": "Gb/s of reads at host, memory socket, process socket"}))

# %% [markdown]
# ## Caches and address translation
#
# A buffer beyond the third cache misses for the share that does not fit; with pages of 4 KB the IOMMU keeps about a
# hundred of them, and walks the tables for the rest. Latency grows by a walk; rates fall to what a few walkers do.

# %%
near = rows.host.isin(["bdw2630", "hsw2620"]) & (rows.memory_socket == 0) & (rows.cache == "warm")
windows = rows[near & rows.window_bytes.notna() & (rows.transfer_bytes == 64)].sort_values("window_bytes")
windows = windows.assign(window_kb=windows.window_bytes / 1024, line=windows.op + ", IOMMU " + windows.iommu)


def over_window(quantity: str, y: str, **titles: str):
    chosen = windows[windows.quantity == quantity]
    lines, marks = (chosen.rename(columns={column: y}) for column in ("simulated", "point"))
    return curves(lines, "window_kb", y, "line", panel="host", log_x=True, published=marks,
                  x_title="KB of the buffer", **titles)  # fmt: skip


over_window("bandwidth", "gbps", title="Transfers of 64 bytes over the size of the buffer", y_title="Gb/s")

# %%
over_window("latency", "ns", title="A lone read of 64 bytes over the size of the buffer", y_title="ns")

# %% [markdown]
# ## Score, and what a reader without a model would say
#
# The reader takes the nearest visible row, or what lies between two. The checked host is the calibrated one's twin
# but for its request size and cache, so its rows are copied almost right, and the model earns nothing on them: this
# comparison judges a model where hosts differ, and those rows are withheld. Latency over the buffer is where it earns
# something here. Writes a second are alike at both hosts to the digits that were measured: the reader copies them
# without error, and no skill can be told of a model beside him; judge that group by its errors.
# Transfers of 65 and 257 bytes are shown once more as a group of their own: the model adds nothing there. No visible
# row has a payload of 128 bytes (`hsw1226`), so nothing is known of its errors with small payloads.

# %%
scores(check)

# %%
OPS = {"read": "reads", "write": "writes", "both": "reads and writes by turns", "write_then_read": "a write, a read"}
FAR = {(0, 0): "", (1, 1): ", far socket", (1, 0): ", far memory", (0, 1): ", far process"}
BUFFERS = {"off": "", "small": ", IOMMU, pages of 4 KB", "large": ", IOMMU, large pages"}


def place(row) -> str:
    """Return the conditions of a row in words."""
    buffer = "" if pd.isna(row.window_bytes) else f", {row.cache} buffer of {row.window_bytes / 1024:g} KB"
    far = FAR[int(row.memory_socket), int(row.control_socket)]
    return f"{row.host}: {OPS[row.op]} of {row.transfer_bytes:g} bytes{far}{buffer}{BUFFERS[row.iommu]}"


visible = rows[rows.error.notna()]
plot.cross_check_table(visible, {row.key: place(row) for row in visible.itertuples()}, height=520)

# %% [markdown]
# ## Red, with reasons
#
# - **A read of 257 bytes** is 20 % slow at `bdw2630`. Seven ways of splitting, joining and moving lines were tried:
#   what makes it right makes one of 65 bytes 47 % too fast at the same host (documentation, "Out of reach"). No
#   specification says how a root complex joins lines.
# - **Reads and writes by turns of 64 and 128 bytes** come out 4 to 7 % fast: completions are acknowledged one by one,
#   and nothing else is known of what goes upwards beside data.
# - **A read of 1,024 bytes** at the calibrated host is 8 % slower than both its neighbours; no mechanism here
#   gives that.
# - `hsw1226` waits up to milliseconds now and then; its median latency stands for all of it.

# %%
p = npx.design("pcie").parameters.file.parameter
fitted = [
    (name, f"{one.value:g} {one.unit.removeprefix('1')}", one.about, len(one.fitted_to))
    for name, one in p.items()
    if one.fitted_to
]
plot.table(pd.DataFrame(fitted, columns=["fitted", "value", "what it is", "to rows"]))
