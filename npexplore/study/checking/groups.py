"""Defines the groups of rows that are scored together, by paper, with error limits that some groups aim at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from npexplore.ledger import Row
from npexplore.ledger.rules import rule
from npexplore.study.papers.gorilla import claims as gorilla_claims

CYCLES_A_STEP, LOOKUPS = rule("gorilla.cycles_a_step"), rule("gorilla.lookup_delays")


@dataclass(frozen=True)
class Group:
    """Rows that are scored together; aim: limits of (root mean square, largest error) in per cent, None: no limit.

    spread: returns the smallest and the largest number of claims that hold over the parameters that calibration
    admits, and the number of claims. part: whether its rows are also in another group that is not a part.
    """

    name: str
    has: Callable[[Row], bool]
    aim: tuple[float | None, float | None] = (None, None)
    spread: Callable[[], tuple[int, int, int]] | None = None
    part: bool = False


def _admitted() -> tuple[int, int, int]:
    """Return (fewest, most, all) Gorilla claims on one configuration that hold over the admissible cycle counts."""
    admissible = gorilla_claims.admissible(CYCLES_A_STEP.value, LOOKUPS.value)
    return int(admissible["right"].min()), int(admissible["right"].max()), int(admissible["claims"].max())


def _resource(name: str) -> Callable[[Row], bool]:
    return lambda row: row.quantity == "utilization" and row.conditions.get("resource") == name


def _under(*prefixes: str) -> Callable[[Row], bool]:
    return lambda row: row.key.startswith(prefixes)


def _gain(row: Row) -> bool:
    return row.unit == "%" and row.quantity.startswith("throughput")


IXP2400 = (
    Group("throughput, Figs. 12-15", lambda row: row.quantity == "throughput" and row.where[:4] == "Fig.", (3, 6)),
    Group("DRAM bandwidth, Fig. 9", lambda row: row.where == "Fig. 9", (None, 2)),
    Group("DRAM bandwidth, Fig. 12", lambda row: row.quantity == "bandwidth" and row.where == "Fig. 12"),
    Group("bus utilization", _resource("dram.bus"), (3, None)),
    Group("bank utilization", _resource("dram.bank"), (8, None)),
    Group("hash unit utilization", _resource("hash")),
    Group("microengine utilization", _resource("me")),
    Group("improvements", lambda row: row.quantity == "throughput improvement", (None, 3)),
)
IXP1200 = (
    Group("plain forwarding", _under("ixp1200.ipfwd."), (None, 10)),
    Group("Fig. 6, throughput against rules", _under("ixp1200.fig6.")),
    Group("Fig. 7, rates of four classes", _under("ixp1200.fig7.")),
    Group("Fig. 8, latencies of four classes", _under("ixp1200.fig8.")),
    Group("Fig. 9, 500 flows", _under("ixp1200.fig9."), (None, 10)),
    Group("Fig. 10, threads", _under("ixp1200.fig10.")),
    Group("Fig. 10, whole system", _under("ixp1200.diffserv."), (None, 10)),
    Group("Table 1, linear search", _under("ixp1200.table1."), (None, 10)),
    Group("Table 2, range matching", _under("ixp1200.table2."), (None, 10)),
)
RAW = (
    Group("rates", lambda row: row.unit in ("Gb/s", "Mpps") or row.quantity == "throughput ratio"),
    Group("steps from version to version", _gain),
    Group("latency and lookup, Table 1", lambda row: row.quantity in ("latency", "extra time")),
    Group("what binds", lambda row: row.quantity == "bottleneck"),
)
SOCLIB = (
    Group("one processor, Sec. 4", _under("soclib.baseline.")),
    Group("elements, Fig. 7 (arithmetic)", _under("soclib.element.", "soclib.table.", "soclib.longest_path")),
    Group("central memory", _under("soclib.exp1.")),
    Group("distributed memory", _under("soclib.exp2.")),
    Group("distributed memory, spin locks", _under("soclib.exp3.")),
)
GORILLA = (
    Group("rates of configurations, Fig. 10", _under("gorilla.perf.", "gorilla.np.board.", "gorilla.board.rate"),
          spread=_admitted),
    Group("trends of threads and schedulers, Figs. 11 and 13", _under("gorilla.fig11.", "gorilla.fig13.")),
    Group("trie storage, Fig. 6", _under("gorilla.fig6.")),
    Group("memory channels, Fig. 7", _under("gorilla.fig7.", "gorilla.trie.ipv6.channels")),
    Group("logic, Fig. 12", _under("gorilla.fig12.", "gorilla.board.lut", "gorilla.sched.", "gorilla.arb.")),
    Group("virtual routers, Sec. 5", _under("gorilla.vr.")),
    Group("counts of the program", _under("gorilla.acc.", "gorilla.fc.", "gorilla.mpls4.", "gorilla.src.")),
    Group("power", _under("gorilla.board.power")),
)  # fmt: skip


def _transfers(op: str, latency: bool = False) -> Callable[[Row], bool]:
    """Return a test for rows of an operation on the small buffer that measure latency or a rate."""
    return lambda row: (
        row.conditions.get("op") == op and (row.quantity == "latency") == latency
        and "window_bytes" not in row.conditions
    )  # fmt: skip


def _program(*programs: str) -> Callable[[Row], bool]:
    return lambda row: row.quantity == "forwarding rate" and row.conditions.get("program") in programs


def _byte_beyond(row: Row) -> bool:
    """Return whether a row is a rate of transfers whose last byte needs one more packet or cache line."""
    return row.quantity == "bandwidth" and float(row.conditions.get("transfer_bytes", 0)) % 64 == 1


PCIE = (
    Group("reads a second", _transfers("read")),
    Group("writes a second", _transfers("write")),
    Group("reads and writes by turns", _transfers("both")),
    Group("rates of transfers a byte beyond 64 or 256", _byte_beyond, part=True),
    Group("latency of a read", _transfers("read", latency=True)),
    Group("latency of a write and a read", _transfers("write_then_read", latency=True)),
    Group("buffers of a size, rates", lambda row: "window_bytes" in row.conditions and row.quantity == "bandwidth"),
    Group("buffers of a size, latency", lambda row: "window_bytes" in row.conditions and row.quantity == "latency"),
)


def _dropped_by_several_cores(row: Row) -> bool:
    return _program("drop", "drop_read")(row) and float(row.conditions.get("cores", 1)) > 1


XDP = (
    Group("packets dropped", _program("drop", "drop_read")),
    Group("packets dropped by several cores", _dropped_by_several_cores, part=True),
    Group("packets routed", _program("route")),
)
NFP = (
    Group("lookups by cores", _under("nfp.lookup8")),
    Group("sketches of 1 to 20 rows", _under("nfp.xdp-count-min")),
)
SCORES: Mapping[str, Sequence[Group]] = {  # by the first word of the rows' keys
    "gorilla": GORILLA,
    "ixp1200": IXP1200,
    "ixp2400": IXP2400,
    "nfp": NFP,
    "pcie": PCIE,
    "raw": RAW,
    "soclib": SOCLIB,
    "xdp": XDP,
}
