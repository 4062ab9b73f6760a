"""Rules for Gorilla's published quantities: rates, memory channels, trie storage, area, virtual routers.

Assumptions where the paper is not explicit: rows that do not mention flow counting are predicted without it; "most" of
six configurations means four; a mix "degrades" if a configuration forwards the mix at a lower rate than the mean of its
parts. Rates with flow counting belong to the embedded test system, whose memories are inside the device.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from npexplore.designs import design
from npexplore.designs.gorilla.steps import PROTOCOLS
from npexplore.designs.gorilla.traffic import FRAME, fewest_and_most_calls, traces
from npexplore.ledger import Row, facts
from npexplore.ledger.rules import Rule, rule
from npexplore.machine.parameters import Parameters, Value
from npexplore.study.checking.quantities.base import Conditions, Get, MissingError, Parts, Quantity, exact
from npexplore.study.papers.gorilla import area, channels, storage, structures, virtual_routers
from npexplore.study.sweeping.points import Point

SIX, MAJORITY, LOSES, MIXED = (rule(f"gorilla.{name}") for name in ("six", "most", "loses", "mixed"))
THREADS, MANY_THREADS, SATURATED = (rule(f"gorilla.{name}") for name in ("threads", "many_threads", "saturated"))
FIG11, FIG11_PROTO, FIG11_MPPS = (rule(f"gorilla.{name}") for name in ("fig11", "fig11_proto", "fig11_mpps"))
LARGE = rule("gorilla.large")
COUNTING_MEMORIES, BOOT, WINDOW = (rule(f"gorilla.{name}") for name in ("counting_memories", "boot_us", "window_us"))
CONDITIONS = Conditions()


def configured(rule_of: Rule) -> list[dict[str, Value]]:
    """Return a rule's configurations, written like 16-6-4, as knobs: clusters, engines, threads."""
    names = ("clusters", "engines", "threads")
    return [dict(zip(names, map(int, text.split("-")), strict=True)) for text in rule_of.value]


def parameters(row: Row) -> Parameters:
    """Return the design's parameters."""
    return design(row.design).parameters


def at(row: Row, **knobs: Value) -> Point:
    """Return the row's point with some knobs changed."""
    return CONDITIONS.points(row)[0].with_(None, **knobs)


def _rate_points(row: Row) -> list[Point]:
    if row.conditions.get("flow_counting") == "on":
        return [at(row, memories=COUNTING_MEMORIES.value)]
    if "clusters" in row.conditions:
        return CONDITIONS.points(row)
    kinds = MIXED.value if row.conditions["proto"] == MIXED.value[0] else (str(row.conditions["proto"]),)
    return [at(row, **knobs, proto=kind) for knobs in configured(SIX) for kind in kinds]


def _rate(row: Row, get: Get) -> float | Parts:
    rates = [get(point).rate_pps for point in _rate_points(row)]
    if len(rates) == 1:
        return rates[0]
    if len(rates) == len(SIX.value):
        majority: int = MAJORITY.value
        return sorted(rates, reverse=True)[majority - 1]
    triples = [rates[k : k + 3] for k in range(0, len(rates), 3)]
    lost = [mixed < LOSES.value * (first_part + second_part) / 2 for mixed, first_part, second_part in triples]
    return dict(zip(SIX.value, lost, strict=True))


def _virtual(count: Callable[[float], float]) -> Quantity:
    """Return the quantity that is the total rate of `count(number of virtual routers)` routers."""
    return exact(lambda row: count(facts().value("gorilla.vr.routers")) * facts().value("gorilla.vr.rate"))


def _offered(row: Row) -> float:
    traffic, published = row.key.rsplit(".", 1)[1], facts()
    return published.value(f"gorilla.src.rate.{traffic}") * 8 * published.value("gorilla.packet.size")


def _calls(row: Row, most: bool) -> float:
    parameters(row).assume("header_check")
    return float(fewest_and_most_calls()[most])


def _label_lookups(row: Row) -> float:
    run = traces(design(row.design).with_(proto=str(row.conditions["proto"])).parameters)[0]
    return float(sum(call.accelerator == "label_table" for call in run.calls))


def _width(row: Row) -> float:
    """Return the bits of a counter (the words of one burst), or of all counters of a flow (key ends with total)."""
    parts, bits, burst = (facts().value(f"gorilla.fc.{n}") for n in ("counter.parts", "qdr.data_width", "qdr.burst"))
    return bits * burst * (parts if row.key.endswith("total") else 1)


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


def _fig11(row: Row) -> list[Point]:
    return [at(row, **knobs, proto=FIG11_PROTO.value, rate_mpps=FIG11_MPPS.value) for knobs in configured(FIG11)]


def _per_area(row: Row, get: Get) -> dict[str, float]:
    """Return the gain in rate per area from the fewest to the most threads by engines (or the reverse, by threads)."""
    p, device = parameters(row), str(row.conditions["device"])
    rates: dict[tuple[int, int], float] = {}
    for knobs, point in zip(configured(FIG11), _fig11(row), strict=True):
        clusters, engines, threads = (int(value) for value in knobs.values())
        share = area.lut_share(p, device, clusters * engines, threads, (FIG11_PROTO.value,))
        rates[engines, threads] = get(point).rate_pps / share
    engine_counts, thread_counts = (sorted({at[n] for at in rates}) for n in (0, 1))
    if row.key.endswith("threads"):
        return {f"{e} engines": rates[e, thread_counts[-1]] / rates[e, thread_counts[0]] for e in engine_counts}
    return {f"{t} threads": rates[engine_counts[-1], t] / rates[engine_counts[0], t] for t in thread_counts}


def _long(row: Row, **knobs: Value) -> Point:
    """Return a point of Fig. 13, simulated for longer because its few engines forward few packets."""
    return at(row, **knobs, boot_us=BOOT.value, window_us=WINDOW.value)


def _saturation_points(row: Row) -> list[Point]:
    delays = (row.conditions["lookup_delay"], row.conditions["baseline_lookup_delay"])
    return [_long(row, threads=t, lookup_delay=int(float(d))) for d in delays for t in THREADS.value]


def _saturation(row: Row, get: Get) -> float:
    rates = [get(point).rate_pps for point in _saturation_points(row)]
    half = len(THREADS.value)
    return _saturated(rates[:half]) / _saturated(rates[half:])


def _saturated(rates: Sequence[float]) -> float:
    return float(next(t for t, x in zip(THREADS.value, rates, strict=True) if x >= SATURATED.value * max(rates)))


def _scheduler_points(row: Row) -> list[Point]:
    names = (str(row.conditions["scheduler"]), str(row.conditions["baseline_scheduler"]))
    return [_long(row, threads=t, scheduler=name) for t in MANY_THREADS.value for name in names]


def _scheduler(row: Row, get: Get) -> dict[str, float]:
    rates = [get(point).rate_pps for point in _scheduler_points(row)]
    pairs = zip(MANY_THREADS.value, rates[::2], rates[1::2], strict=True)
    return {f"{threads} threads": rate / baseline_rate for threads, rate, baseline_rate in pairs}


def _missing(row: Row, get: Get) -> float:
    raise MissingError


def _overhead(row: Row) -> Parts:
    """Return the added area share of a reorder queue or of fair local arbiters, for 16-6-2 and 16-6-4."""
    added = "fair" if ".fair." in row.key else "ready"
    machine = design(row.design)
    return {f"{n} threads": structures.overheads(machine.with_(threads=n).parameters)[added] for n in LARGE.value}


def _grouping(row: Row) -> bool:
    configuration = str(row.conditions["routers"])
    consolidated = virtual_routers.consolidate(design(row.design), configuration, "protocol")
    groups = {"8.1.1": {"8M", "1I", "1B"}, "1.8.1": {"1M+8I+1B"}}[configuration]
    return {str(router.group) for router in consolidated} == groups


def _saving(row: Row) -> float:
    return virtual_routers.saving(design(row.design), str(row.conditions["baseline_consolidation"]))


QUANTITIES: Mapping[str, Quantity] = {
    "forwarding rate": Quantity(_rate_points, _rate),
    "throughput": Quantity(CONDITIONS.points, lambda row, get: get(CONDITIONS.points(row)[0]).rate_pps * 8 * FRAME),
    "offered load": exact(_offered),
    "fewest accelerator calls": exact(lambda row: _calls(row, most=False)),
    "most accelerator calls": exact(lambda row: _calls(row, most=True)),
    "label lookups": exact(_label_lookups),
    "memory channels": exact(_channels),
    "required MPLS share": exact(_without_memory),
    "level 1 entries": exact(lambda row: 2 ** facts().value("gorilla.trie.ipv4.stride.1")),
    "level 2 entries": exact(_level2),
    "capacity": exact(_words),
    "width": exact(_width),
    "counters": exact(lambda row: facts().value("gorilla.fc.counter.parts") - 1),
    "LUT utilization": exact(_lut),
    "throughput per area": Quantity(_fig11, _per_area),
    "ratio of threads at saturation": Quantity(_saturation_points, _saturation),
    "throughput ratio": Quantity(_scheduler_points, _scheduler),
    "area overhead": exact(_overhead),
    "power": Quantity(lambda row: [], _missing, "exact"),
    "grouping": exact(_grouping),
    "area saving": exact(_saving),
    # rules for single rows, which override the rule of their quantity
    "gorilla.vr.total": _virtual(lambda routers: routers),
    "gorilla.vr.group": _virtual(lambda routers: routers - 2),
}
