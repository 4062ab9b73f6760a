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
# # Test a router of your own
#
# Does a router do what its standards ask of it? This one, of thirty lines, has three faults that tests by hand easily
# miss. The golden router and `npexplore.testing` find each, shrink it to the smallest packet or the fewest updates that
# show it, and name the clause that decides. Put your own functions in place of these and run the notebook again.

# %%
from collections import Counter
from functools import partial
from textwrap import fill

import pandas as pd
import plotly.express as px
from IPython.display import Markdown

from npexplore import plot
from npexplore.golden import (
    Forwarder,
    PortRecord,
    RouteRecord,
    RouterFile,
    header_checksum_is_right,
    prefix_mask,
    prefix_pair,
    resolve_router,
    with_checksum,
)
from npexplore.plot import with_layout
from npexplore.report import first_screen, headline
from npexplore.testing import Bench, CounterexampleError, check_lookup, check_router, examine_router, frames

plot.use_theme()


def finding(check, *arguments, **options):
    """Run a check; return what it found as text, None if nothing."""
    try:
        check(*arguments, **options)
    except CounterexampleError as error:
        return error
    return None


def shown(error):
    """Return a finding as a block of text."""
    lines = str(error or "no difference").splitlines()
    return Markdown("```text\n" + "\n".join(fill(line, 98, subsequent_indent="      ") for line in lines) + "\n```")


# %%
# The router under test: two links, three routes. What is the same in a ROUTER.toml file can be given by its path.
ROUTER = resolve_router(
    RouterFile(
        port=[
            PortRecord(name="west", address="10.0.0.1/8", mac="02:00:00:00:00:01", peer_mac="02:00:00:00:01:01"),
            PortRecord(name="east", address="11.0.0.1/8", mac="02:00:00:00:00:02", peer_mac="02:00:00:00:01:02"),
        ],
        route=[
            RouteRecord(prefix="20.0.0.0/8", via="11.0.0.2"),
            RouteRecord(prefix="64.0.0.0/2", via="10.0.0.2"),
            RouteRecord(prefix="96.0.0.0/3", via="11.0.0.2"),
        ],
    )
)


class Table:
    """Routes of up to 8 bits; 256 slots of (length, next hop)."""

    def __init__(self):
        self.slots, self.routes = [(-1, None)] * 256, {}

    def insert(self, prefix, next_hop):
        """Add a route, or change its next hop."""
        value, length = prefix_pair(prefix)
        self.routes[value, length] = next_hop
        for slot in range(value >> 24, (value >> 24) + (256 >> length)):
            self.slots[slot] = max(self.slots[slot], (length, next_hop), key=lambda entry: entry[0])
            if self.slots[slot][0] == length:
                self.slots[slot] = (length, next_hop)

    def remove(self, prefix):
        """Take a route away; its slots go to a route that covers them."""
        value, length = prefix_pair(prefix)
        del self.routes[value, length]
        for slot in range(value >> 24, (value >> 24) + (256 >> length)):
            if self.slots[slot][0] == length:
                self.slots[slot] = self.covering(slot << 24)

    def covering(self, address):
        """Return the entry of a route that covers an address."""
        routes = self.routes.items()
        return next(((n, hop) for (value, n), hop in routes if address & prefix_mask(n) == value), (-1, None))

    def lookup(self, address):
        """Return the next hop, None without a route."""
        return self.slots[address >> 24][1]


TABLE = Table()
for prefix, port in {"20.0.0.0/8": 1, "64.0.0.0/2": 0, "96.0.0.0/3": 1}.items():
    TABLE.insert(prefix, port)
LINKS, NO_HOST = {10, 11}, {0, 127, *range(224, 256)}


def lower_ttl(packet):
    """Return a packet with one less to live; the checksum is computed anew."""
    return with_checksum(packet[:8] + bytes([packet[8] - 1]) + packet[9:])


def is_plain(port, frame):
    """Say whether the fast path takes this frame."""
    packet = frame[14:]
    to_us = frame[:6] == ROUTER.ports[port].mac and frame[12:15] == b"\x08\x00\x45"
    if not to_us or not header_checksum_is_right(packet) or not 20 <= length_of(packet) <= len(packet):
        return False
    all_of_a_link = packet[12] in LINKS and packet[13:16] in (b"\x00\x00\x00", b"\xff\xff\xff")
    return not all_of_a_link and packet[12] not in NO_HOST and packet[16] not in NO_HOST | LINKS


def length_of(packet):
    """Return a packet's total length."""
    return int.from_bytes(packet[2:4], "big")


def fast_path(port, frame, *, lower=lower_ttl, lowest_ttl=1):
    """Forward a plain packet; None leaves it to the slow path."""
    packet = frame[14 : 14 + length_of(frame[14:])]
    if not is_plain(port, frame) or packet[8] < lowest_ttl:
        return None
    out = TABLE.lookup(int.from_bytes(packet[16:20], "big"))
    if out is None or out == port:
        return None
    return [(out, ROUTER.ports[out].peer_mac + ROUTER.ports[out].mac + b"\x08\x00" + lower(packet))]


def lower_ttl_quickly(packet):
    """Return a packet with one less to live, its checksum updated."""
    checksum = int.from_bytes(packet[10:12], "big") + 0x0100
    checksum = (checksum & 0xFFFF) + (checksum >> 16)
    return packet[:8] + bytes([packet[8] - 1, packet[9]]) + checksum.to_bytes(2, "big") + packet[12:]


# %%
PLAIN = frames(ROUTER, valid=True, options=False)
first = finding(check_router, fast_path, ROUTER, cases=PLAIN)
second = finding(check_router, partial(fast_path, lower=lower_ttl_quickly, lowest_ttl=2), ROUTER, cases=PLAIN)
third = finding(check_lookup, Table, max_length=8, max_examples=500)
found = {"one hop left": first, "corner of one's complement": second, "wrong covering route": third}
updates = str(third).count("insert") + str(third).count("remove")
examined = examine_router(partial(fast_path, lower=lower_ttl_quickly), ROUTER, cases=PLAIN)
rules = sorted((one for one in examined.rows if one.tried), key=lambda one: (one.failed, one.tried))[-10:]
figure = px.bar(
    x=[share for one in rules for share in (one.held / one.tried, one.failed / one.tried)],
    y=[one.rule.subject for one in rules for _ in range(2)],
    color=["as the golden router", "otherwise"] * len(rules),
    color_discrete_sequence=[plot.ORIGIN_COLOURS["queueing"], plot.VERMILION],
    hover_name=[one.rule.clause for one in rules for _ in range(2)],
    orientation="h",
    labels={"x": "share of the frames that try a rule", "y": "", "color": ""},
)
figure.add_vline(x=1, line={"color": plot.ORIGIN_COLOURS["published"], "width": 3}).update_xaxes(tickformat=".0%")
first_screen(
    {
        "What is found?": f"{sum(map(bool, found.values()))} of {len(found)} faults, as small as they can be: frames "
        f"of {len(first.frame)} and {len(second.frame)} bytes, and {updates} updates of the table.",
        "Which clauses decide?": "; ".join(f"{name}: {one.difference.clause}" for name, one in found.items()) + ".",
        "How many frames does it take?": f"Of {examined.frames:,} that the fast path decides {examined.failures:,} "
        f"come out otherwise than the golden router's, in {len(examined.clusters)} clusters.",
    },
    with_layout(figure, "What must hold (black), and what does", 430).update_layout(
        title={"xref": "container", "x": 0.1}
    ),
    tries={"the first fault": "#First-fault:-one-hop-left", "the second": "#Second-fault:-a-corner-of-one's-complement",
           "the third": "#Third-fault:-the-wrong-covering-route", "packets of your own": "61_your_capture.html"},
)  # fmt: skip

# %% [markdown]
# ## The router under test
#
# The router has two links and three routes; its code is above. Its forwarding table has one slot for each value of the
# first octet of an address. It also keeps the list of routes, to refill a slot when a route is removed. Prefixes have
# at most eight bits; that keeps the example short.
#
# As in a network processor, a fast path decides plain packets and leaves the others (options, errors, odd addresses) to
# a slow path: for these the router returns `None`, and they are not compared.

# %% [markdown]
# ## What it is tried with
#
# `frames(router)` draws around the router's own addresses, links, routes and MTUs: packets that pass, at the borders
# of routes, with options, in pieces, and malformed ones. The golden router tells what must become of each.

# %%
stimuli = list(Bench(ROUTER).stimuli(1000))
golden = Forwarder(ROUTER)
outcomes = Counter(golden.forward(port, frame).reason for port, frame in stimuli)
counts = pd.Series({reason.text if reason else "forwarded": count for reason, count in outcomes.items()}).sort_values()
figure = px.bar(
    counts,
    orientation="h",
    title="Most frames are dropped, for many reasons",
    labels={"index": "what must become of them", "value": "frames of 1000"},
)
figure.update_layout(showlegend=False, height=560, yaxis_title=None, title={"x": 0, "xref": "container"})

# %% [markdown]
# ## First fault: one hop left
#
# `check_router` compares frame by frame and shows the smallest one that comes out otherwise. Most of what is drawn is
# not for a fast path, so it gets right packets without options. The smallest that shows a fault has no contents and
# may not be forwarded any more.

# %%
shown(first)

# %% [markdown]
# RFC 1812 section 5.3.1: a packet whose time to live is 1 has none left when it leaves. With the test put right there
# is no difference.

# %%
compared = check_router(partial(fast_path, lowest_ttl=2), ROUTER, cases=PLAIN)
headline("frames compared with the golden router, no difference", compared)

# %% [markdown]
# ## Second fault: a corner of one's complement
#
# A whole new sum takes time, so somebody makes it quicker. The time to live sits in the upper half of a 16-bit word:
# one less to live is `0x0100` more in the checksum, and what runs over comes in again below.


# %%
shown(second)

# %% [markdown]
# One's complement has two zeros. The update gives `0xffff` where the sum computed anew is `0x0000`: that was the
# mistake in RFC 1141, and RFC 1624 section 3 is about it. One header in 65,535 shows it, so frames are drawn with such
# checksums on purpose. The remedy is equation 3 of RFC 1624, where $m$ is the word before and $m'$ the word after:
#
# $$HC' = {\sim}({\sim}HC + {\sim}m + m')$$


# %%
def lower_ttl_rfc1624(packet):
    """Return a packet with one less to live, its checksum updated by equation 3."""
    before = int.from_bytes(packet[8:10], "big")
    total = (int.from_bytes(packet[10:12], "big") ^ 0xFFFF) + (before ^ 0xFFFF) + before - 0x0100
    total = (total & 0xFFFF) + (total >> 16)
    total = ((total & 0xFFFF) + (total >> 16)) ^ 0xFFFF
    return packet[:8] + bytes([packet[8] - 1, packet[9]]) + total.to_bytes(2, "big") + packet[12:]


mended = partial(fast_path, lower=lower_ttl_rfc1624, lowest_ttl=2)
compared = check_router(mended, ROUTER, cases=PLAIN) + check_router(mended, ROUTER)
headline("frames compared after the update was put right, no difference", compared)

# %% [markdown]
# ## Third fault: the wrong covering route
#
# The table was never changed while packets came. `check_lookup` inserts and removes routes and asks at the borders of
# their prefixes, where an answer can change.

# %%
shown(third)

# %% [markdown]
# When a route goes, its slots belong to the *longest* prefix that covers them, not to the first one in the list.


# %%
class MendedTable(Table):
    """The same with the longest covering route."""

    def covering(self, address):
        """Return the entry of the longest route that covers an address."""
        found = [(n, hop) for (value, n), hop in self.routes.items() if address & prefix_mask(n) == value]
        return max(found, default=(-1, None))


shown(finding(check_lookup, MendedTable, max_length=8, max_examples=500))

# %% [markdown]
# ## What was found
#
# Each fault with the size of what shows it and the clause that decides.

# %%
pd.DataFrame(
    {
        "shown by": [
            f"a frame of {len(first.frame)} bytes",
            f"a frame of {len(second.frame)} bytes",
            f"{updates} updates",
        ],
        "clause": [error.difference.clause for error in found.values()],
    },
    index=list(found),
)

# %% [markdown]
# Programs that read and write captures are tested by `check_captures`, devices in a simulator by `Bench`;
# `npexplore route --compare` checks output captures that are there already.
