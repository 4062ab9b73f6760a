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
# # Turn the knobs: what binds, and how fast, at once
#
# How would each machine perform with more threads, a wider bus, other packets? Each slider position shows a machine
# that was solved beforehand, or an interpolation between two such machines. Roofline, bottleneck and throughput change
# at once, without Python and without a network connection.

# %%
import pandas as pd

from npexplore import plot
from npexplore.report import Playground, precomputed, solve_landscape

plot.use_theme()
small = {"packet_bytes": 64}


def play(name, title, load=None, fixed=None, between=(), **knobs):
    """The sliders of one machine; each knob has its nodes, and after them where its slider stands first.

    between: knobs whose sliders also stand between nodes; the others step.
    """
    grid, start = {knob: nodes for knob, (nodes, _) in knobs.items()}, {knob: at for knob, (_, at) in knobs.items()}
    solved = precomputed(solve_landscape, name, load, fixed or {}, grid, list(between), machines=[name])
    return Playground(title, solved, start)


# %% [markdown]
# ## Machines of the five papers

# %%
play(
    "ixp2400", "IXP2400 with real traffic (AMP)", {"mix": "amp"}, between=["threads"],
    threads=([1, 2, 3, 4, 6, 8, 12, 16, 24, 32], 16),
    bus_bits=([32, 64, 128], 64), banks=([2, 4, 8], 4), scheme=(["base", "hb", "fcb", "fcb_tb"], "base"),
)  # fmt: skip

# %%
play(
    "raw", "RAW: five layouts of one router", small, packet_bytes=([64, 128, 256, 1500], 64),
    version=(["v1", "v2", "v3", "v3d", "v4", "v5", "null"], "v3"),
)  # fmt: skip

# %%
play(
    "ixp1200", "IXP1200: a DiffServ edge router", receivers=([8, 16], 16), rules=([1, 4, 16, 64, 256, 512], 64),
    classifier=(["rm", "ls"], "rm"), sram_banks=([1, 2], 1),
)  # fmt: skip

# %%
play(
    "soclib", "SoCLIB: processors around one lock", between=["processors"],
    processors=([1, 2, 4, 6, 8, 9, 12, 16, 24, 32, 48, 64], 8),
    memory=(["shared", "distributed"], "shared"), lock=(["mutex", "spin"], "mutex"),
)  # fmt: skip

# %%
play(
    "gorilla", "Gorilla: clusters, engines, threads", fixed={"rate_mpps": 0.0, "balancing": "ideal"},
    between=["engines", "threads"], engines=([2, 4, 6, 8], 6), threads=([1, 2, 4], 4),
    flow_counting=(["off", "on"], "off"), proto=(["ipv4", "mpls_4"], "ipv4"),
)  # fmt: skip

# %% [markdown]
# ## Machines of today

# %%
play(
    "smartnic", "SmartNIC: cores, and where packets wait", small, between=["packet_cycles"], cores=([1, 4, 8, 16], 8),
    packet_cycles=([100, 200, 400, 800], 200), packet_bytes=([64, 1500], 64),
    buffer=(["chip", "memory"], "chip"),
)  # fmt: skip

# %%
play(
    "server", "Server: cores, rings, packed completions", small, cores=([1, 2, 3, 4, 5, 6], 4),
    program=(["drop", "tx", "redirect", "route"], "drop"), ring=([128, 256, 512, 1024], 512),
    cqe_compress=(["off", "on"], "off"),
)  # fmt: skip

# %%
play(
    "pcie", "PCI Express: a device in its host", small, packet_bytes=([64, 128, 256, 512, 1024, 2048], 64),
    lanes=([4, 8, 16], 8), generation=([2, 3, 4], 3), op=(["read", "write", "both"], "read"),
)  # fmt: skip

# %% [markdown]
# ## What the sliders say, and what they do not
#
# Ceilings are bounds: what one resource alone allows. Queueing adds waiting, and refuses where its assumptions do not
# hold. The estimate is simulated at every node of the grid, within about 1 %; pages of the machines say how near all
# come to print. A bound holds for packets in the shares in which they come: IXP1200 with 8 receivers loses more of the
# packets that take long, and so carries more than it.

# %%
told = [("ceiling", "packets a second that one resource alone allows"), ("bound", "the lowest ceiling"),
        ("queueing", "the queueing model's mean rate"), ("estimate", "the simulated mean rate")]  # fmt: skip
plot.table(pd.DataFrame(told, columns=["word", "what it is"]))
