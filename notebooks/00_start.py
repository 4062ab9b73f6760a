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
# # A tour: packets in, published numbers out
#
# What stands before any model runs: what is in a capture, and which measurements the papers printed. Change the file
# name below to a capture of your own and run the notebook again.

# %%
import pandas as pd
import plotly.express as px

import npexplore as npx
from npexplore.paths import share
from npexplore.plot import theme
from npexplore.report import headline

theme.use()
CAPTURES = share("data", "captures")

# %% [markdown]
# ## What is in a capture
#
# Packets of one visit to a web site, as they passed on an Ethernet. Any pcap or pcapng file can stand in its place,
# compressed or not. Lengths are those on the wire, also where the capture kept only the first bytes.

# %%
capture = npx.read_capture(CAPTURES / "zeek_wikipedia.pcap")
capture

# %%
headline("Packets in the example capture", len(capture))

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
# ## What the papers printed
#
# Every published number is one row of the ledger, with its place in the paper, its unit and the interval that its
# rounding leaves open. Its **role** says who may read it: models see *input* and *calibration* rows only; *check* rows
# wait for a prediction; *withheld* ones are predicted before their values are known.

# %%
ledger = npx.published()
pd.crosstab(ledger["paper"], ledger["role"], margins=True, margins_name="in all")

# %%
headline("Published numbers in the ledger", len(ledger))

# %% [markdown]
# Some of them: throughputs of the IXP2400 that its model may not read, and must predict.

# %%
chosen = "paper == 'ixp2400_buffering' and quantity == 'throughput' and role == 'check' and kind == 'number'"
to_predict = ledger.query(chosen).dropna(axis="columns", how="all")
to_predict.set_index("where")[["value", "unit", "lo", "hi", "conditions"]].head(12)
