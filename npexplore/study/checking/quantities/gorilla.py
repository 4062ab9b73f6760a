"""Gorilla's published quantities: rates of configurations, memory channels, trie storage, area, virtual routers.

What the paper leaves open: a row that names no flow counting is taken without; "most" of six configurations is four of
them; a mix "degrades" where a configuration forwards less of it than of its parts in the mean. Rates with flow counting
are those of the embedded test system, whose memories are inside the device.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from npexplore.designs import design
from npexplore.designs.gorilla.steps import PROTOCOLS
from npexplore.designs.gorilla.traffic import FRAME, most_and_fewest_calls, traces_of
from npexplore.golden.flow_counters import BURST, COUNTER_BITS, COUNTERS, WORD_BITS
from npexplore.ledger import Row, facts
from npexplore.machine.parameters import Parameters, Value
from npexplore.study.checking.quantities.base import Conditions, Get, MissingError, Quantity
from npexplore.study.papers.gorilla import area, channels, storage, structures, virtual_routers
from npexplore.study.sweeping.points import Point

SIX = ((4, 1), (4, 2), (4, 4), (6, 1), (6, 2), (6, 4))  # engines and threads of 16-*-* in Figs. 10 and 12
MOST = 4
LOSES = 0.995  # of what the parts forward
THREADS = (1, 2, 3, 4, 6, 8, 12, 16)  # of Fig. 13
MANY_THREADS = (6, 8, 12, 16)
SATURATED = 0.99
LONG: Mapping[str, Value] = {"boot_us": 60.0, "window_us": 300.0}  # where 8 clusters of 2 engines forward little
FIG11 = ((2, 1), (2, 2), (2, 4), (4, 1), (4, 2), (4, 4), (6, 1), (6, 2), (6, 4))
WIDTHS: Mapping[str, int] = {
    "gorilla.fc.counter.total": COUNTERS * COUNTER_BITS, "gorilla.fc.counter.each": WORD_BITS * BURST,
}  # fmt: skip
CONDITIONS = Conditions()
AREA = ("lut_engine", "lut_thread")


def parameters(row: Row) -> Parameters:
    """Return the design's parameters."""
    return design(row.design).parameters


def at(row: Row, **knobs: Value) -> Point:
    """Return the row's point with some knobs changed."""
    return CONDITIONS.points(row)[0].with_(None, **knobs)


def _rate_points(row: Row) -> list[Point]:
    if row.conditions.get("flow_counting") == "on":
        return [at(row, memories="internal")]
    if "clusters" in row.conditions:
        return CONDITIONS.points(row)
    kinds = ("mpls_1_ipv4", "mpls_1", "ipv4") if row.conditions["proto"] == "mpls_1_ipv4" else (None,)
    return [
        at(row, clusters=16, engines=e, threads=t, **({} if kind is None else {"proto": kind}))
        for e, t in SIX
        for kind in kinds
    ]


def _rate(row: Row, get: Get) -> float | bool:
    rates = [get(point).rate_pps for point in _rate_points(row)]
    if len(rates) == 1:
        return rates[0]
    if len(rates) == len(SIX):
        return sorted(rates, reverse=True)[MOST - 1]
    triples = [rates[k : k + 3] for k in range(0, len(rates), 3)]
    return any(mixed < LOSES * (a + b) / 2 for mixed, a, b in triples)


def _throughput(row: Row, get: Get) -> float:
    count = {"gorilla.vr.total": facts().value("gorilla.vr.routers"), "gorilla.vr.group": 8.0}.get(row.key)
    if count is not None:
        return count * facts().value("gorilla.vr.rate")
    return get(CONDITIONS.points(row)[0]).rate_pps * 8 * FRAME


def _is_sum(row: Row) -> bool:
    return row.key in ("gorilla.vr.total", "gorilla.vr.group")


def _exact(number: Callable[[Row], float | bool], *reads: str) -> Quantity:
    """Return a quantity that follows from the description and some parameters alone."""
    return Quantity(lambda row: [], lambda row, get: number(row), "exact", reads=lambda row: reads)


def _memory(row: Row) -> Parameters:
    return design(row.design).with_(memory=str(row.conditions["memory"])).parameters


def _channels(row: Row) -> float:
    c = row.conditions
    mix = {str(c["proto"]): 1.0}
    return float(channels.channels_needed(_memory(row), mix, str(c["op"]), float(c["rate_mpps"]) * 1e6))


def _without_memory(row: Row) -> float:
    c = row.conditions
    return channels.share_without_memory(_memory(row), str(c["proto"]), str(c["op"]), float(c["rate_mpps"]) * 1e6)


def _table(row: Row, name: str) -> float:
    return facts().value(f"gorilla.fig6.{row.conditions['table']}.{name}")


def _level2(row: Row) -> float:
    return float(storage.level2_entries(_table(row, "prefixes"), parameters(row).sites_share))


def _words(row: Row) -> float:
    return storage.words(_level2(row), _table(row, "level3"))


def _lut(row: Row) -> float:
    c, device = row.conditions, str(row.conditions["device"])
    protocols = ("ipv4",) if c.get("proto") == "ipv4" else PROTOCOLS
    engines = int(float(c["clusters"])) * int(float(c["engines"]))
    return area.lut_share(parameters(row), device, engines, int(float(c["threads"])), protocols)


def _lut_reads(row: Row) -> Sequence[str]:
    device = str(row.conditions["device"])
    return (*AREA, area.DEVICES[device]) if device != area.REFERENCE else AREA


def _fig11(row: Row) -> list[Point]:
    return [at(row, clusters=8, engines=e, threads=t, proto="ipv4", rate_mpps=100.0) for e, t in FIG11]


def _per_area(row: Row, get: Get) -> float:
    """Return the gain in rate per area from the fewest to the most threads, or engines: the mean over the others."""
    p, device = parameters(row), str(row.conditions["device"])
    found = {
        (e, t): get(point).rate_pps / area.lut_share(p, device, 8 * e, t, ("ipv4",))
        for (e, t), point in zip(FIG11, _fig11(row), strict=True)
    }
    if row.key.endswith("threads"):
        return fmean(found[e, 4] / found[e, 1] for e in (2, 4, 6))
    return fmean(found[6, t] / found[2, t] for t in (1, 2, 4))


def _saturation_points(row: Row) -> list[Point]:
    delays = (row.conditions["lookup_delay"], row.conditions["baseline_lookup_delay"])
    return [at(row, threads=t, lookup_delay=int(float(d)), **LONG) for d in delays for t in THREADS]


def _saturation(row: Row, get: Get) -> float:
    rates = [get(point).rate_pps for point in _saturation_points(row)]
    short, long = rates[: len(THREADS)], rates[len(THREADS) :]
    return _saturated(short) / _saturated(long)


def _saturated(rates: Sequence[float]) -> float:
    return float(next(t for t, x in zip(THREADS, rates, strict=True) if x >= SATURATED * max(rates)))


def _scheduler_points(row: Row) -> list[Point]:
    names = (str(row.conditions["scheduler"]), str(row.conditions["baseline_scheduler"]))
    return [at(row, threads=t, scheduler=name, **LONG) for t in MANY_THREADS for name in names]


def _scheduler(row: Row, get: Get) -> float:
    rates = [get(point).rate_pps for point in _scheduler_points(row)]
    return fmean(a / b for a, b in zip(rates[::2], rates[1::2], strict=True))


def _missing(row: Row, get: Get) -> float:
    raise MissingError


def _overhead(row: Row) -> float:
    """Return what a reorder queue, or fair local arbiters, add to a large configuration: 16-6-4."""
    return structures.overheads(parameters(row))["fair" if ".fair." in row.key else "ready"]


def _grouping(row: Row) -> bool:
    configuration = str(row.conditions["routers"])
    found = virtual_routers.consolidate(design(row.design), configuration, "protocol")
    wanted = {"8.1.1": {"8M", "1I", "1B"}, "1.8.1": {"1M+8I+1B"}}[configuration]
    return {str(one.group) for one in found} == wanted


def _saving(row: Row) -> float:
    return virtual_routers.saving(design(row.design), str(row.conditions["baseline_consolidation"]))


_CYCLES = ("overhead_cycles", "lookup_cycles", "request_cycles", "edit_cycles", "check_cycles")
_CONSOLIDATION = (*AREA, "lut_v7_ratio", "lut_fixed", *_CYCLES)
QUANTITIES: Mapping[str, Quantity] = {
    "forwarding rate": Quantity(_rate_points, _rate),
    "throughput": Quantity(lambda row: [] if _is_sum(row) else CONDITIONS.points(row), _throughput),
    "offered load": _exact(lambda row: float(row.key.rsplit(".", 1)[1]) * 1e6 * 8 * FRAME),
    "fewest accelerator calls": _exact(lambda row: float(most_and_fewest_calls()[0]), "check_cycles"),
    "most accelerator calls": _exact(lambda row: float(most_and_fewest_calls()[1]), "check_cycles"),
    "label lookups": _exact(
        lambda row: float(sum(c.accelerator == "label_table" for c in traces_of(str(row.conditions["proto"]))[0].calls))
    ),
    "memory channels": _exact(_channels),
    "required MPLS share": _exact(_without_memory),
    "level 1 entries": _exact(lambda row: float(storage.LEVEL1)),
    "level 2 entries": _exact(_level2, "sites_share"),
    "capacity": _exact(_words, "sites_share"),
    "width": _exact(lambda row: float(WIDTHS[row.key])),
    "counters": _exact(lambda row: float(COUNTERS - 1)),
    "LUT utilization": Quantity(lambda row: [], lambda row, get: _lut(row), "exact", reads=_lut_reads),
    "throughput per area": Quantity(_fig11, _per_area, reads=lambda row: AREA),
    "ratio of threads at saturation": Quantity(_saturation_points, _saturation),
    "throughput ratio": Quantity(_scheduler_points, _scheduler),
    "area overhead": _exact(_overhead, *AREA, "lut_structures"),
    "power": Quantity(lambda row: [], _missing, "exact"),
    "grouping": _exact(_grouping, *_CONSOLIDATION),
    "area saving": _exact(_saving, *_CONSOLIDATION),
}
