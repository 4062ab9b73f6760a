"""A DiffServ edge in front of a router's links: classifier, policers, queues and schedulers, from a file of rules.

A rule's code point determines the class (a queue of every port) and the colour of its packets. Packets of a class
without a queue join the last queue and keep their code point (RFC 2474 section 3). Default weights halve from class to
class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from npexplore.errors import InputError, one_of, told_at
from npexplore.golden.classify import Classifier, LinearSearch, RangeMatcher
from npexplore.golden.classify.rule_files import RulesFile, read_rules_file, rules_of
from npexplore.golden.classify.rules import Rule, Rules
from npexplore.golden.code_points import NAMES, class_of
from npexplore.golden.diffserv import ClassQueue, DiffServ, OutputPort, Shaping, Treatment
from npexplore.golden.diffserv.link_rate import CHECK, GAP, PREAMBLE
from npexplore.golden.diffserv.queues import EarlyDrop, QueueLimits, Thresholds
from npexplore.golden.diffserv.records import (
    BytesUnit,
    DifferentiatedTwoRateRecord,
    LeakyBucketRecord,
    PolicerRecord,
    PortQueuesRecord,
    QueueRecord,
    SingleRateRecord,
)  # fmt: skip
from npexplore.golden.police import Colour, DifferentiatedTwoRate, LeakyBucket, SingleRate, TwoRate
from npexplore.golden.police.base import Policer
from npexplore.golden.router.ports import Port
from npexplore.golden.schedule import SCHEDULERS
from npexplore.golden.schedule.priority_drr import halving_quanta
from npexplore.golden.token_rate import TokenRate

HEAD = 14  # bytes of an Ethernet header
SHORTEST = 64  # of a frame with its check sequence
DROPS = {"yellow": Colour.YELLOW, "red": Colour.RED, "never": None}
VECTORS_UP_TO = 1024  # rules; for more, linear search, because bit vectors need too much memory


@dataclass(frozen=True)
class Edge:
    """Rules with their classifier, and the functional router that takes the rules' numbers.

    policer_bytes, port_bytes: a packet's size for each policer and for the queues of each port: ip, frame or line.
    """

    rules: Rules
    classifier: Classifier
    diffserv: DiffServ
    policer_bytes: tuple[BytesUnit, ...] = ()
    port_bytes: tuple[BytesUnit, ...] = ()


def load_edge(path: str | Path, ports: Sequence[Port]) -> Edge:
    """Read a file of rules for a router's ports; raises InputError naming file, place, rule and value."""
    record = read_rules_file(path)
    try:
        return edge_of(record, ports, Path(path).name)
    except InputError as error:
        text = str(error)
        raise InputError(text if text.startswith(Path(path).name) else f"{Path(path).name}: {text}") from None


def edge_of(record: RulesFile, ports: Sequence[Port], origin: str = "rules") -> Edge:
    """Return the edge that a file describes. Raises InputError."""
    rules = rules_of(record.rule, origin, record.policer)
    classes = tuple(record.classes)
    drops = {name: DROPS[policer.drop] for name, policer in record.policer.items()}
    by_name = {name: _policer(f"policer {name!r}", policer) for name, policer in record.policer.items()}
    policers: list[Policer] = []
    units: list[BytesUnit] = []
    policer_numbers: dict[str, int] = {}
    treatments = []
    for rule in rules:
        number = None
        if rule.policer is not None:
            if record.policer[rule.policer].per_rule or rule.policer not in policer_numbers:
                policer_numbers[rule.policer] = len(policers)
                policers.append(by_name[rule.policer])
                units.append(record.policer[rule.policer].bytes)
            number = policer_numbers[rule.policer]
        treatments.append(_treatment(rule, classes, number, drops.get(rule.policer or "", Colour.RED)))
    names = [port.name for port in ports]
    for name in record.port:
        one_of("port", name, names)
    outputs = tuple(_port(port, record, classes) for port in ports)
    diffserv = DiffServ(tuple(treatments), outputs, tuple(policers), classes)
    small = len(rules) <= VECTORS_UP_TO
    port_units = tuple(record.port.get(name, PortQueuesRecord()).bytes or record.bytes for name in names)
    classifier = RangeMatcher(rules, width=VECTORS_UP_TO) if small else LinearSearch(rules)
    return Edge(rules, classifier, diffserv, tuple(units), port_units)


def _treatment(rule: Rule, classes: tuple[str, ...], policer: int | None, drop: Colour | None) -> Treatment:
    """Return the treatment of a rule's packets: class, policer, drops, code point."""
    name, colour = class_of(rule.dscp)
    if name in classes and rule.dscp in NAMES:
        return Treatment(name, policer, drop, None, colour)
    return Treatment(classes[-1] if name not in classes else name, policer, drop, rule.dscp)


def _policer(place: str, record: PolicerRecord) -> Policer:
    with told_at(place):
        rate = TokenRate.of(record.rate)
        if isinstance(record, LeakyBucketRecord):
            return LeakyBucket(rate, record.burst, record.tick_ns)
        if isinstance(record, SingleRateRecord):
            return SingleRate(rate, record.burst, record.excess, record.aware)
        if isinstance(record, DifferentiatedTwoRateRecord):
            excess = TokenRate.of(record.excess_rate)
            return DifferentiatedTwoRate(rate, record.burst, excess, record.excess_burst, record.aware)
        return TwoRate(TokenRate.of(record.peak), record.peak_burst, rate, record.burst, record.aware)


def _port(port: Port, record: RulesFile, classes: tuple[str, ...]) -> OutputPort:
    """Return the output port of a router's port: rate, queues, scheduler, shaping."""
    place = f"port {port.name!r}"
    if port.rate_bps is None:
        raise InputError(f"{place}: needs a rate in the router's file, for its scheduler to have a link")
    own = record.port.get(port.name, PortQueuesRecord())
    scheduler = one_of(f"{place}: scheduler", own.scheduler or record.scheduler, SCHEDULERS)
    for table, names in (("queue", record.queue), (f"{place}: queue", own.queue)):
        for name in names:
            one_of(f"{table}: class", name, classes)
    kind, largest = SCHEDULERS[scheduler], max(port.mtu + HEAD + CHECK, SHORTEST)
    weights = halving_quanta(len(classes), largest if kind.IN_BYTES else 1)
    rate = TokenRate.per_second(Fraction(round(port.rate_bps), 8))
    queues = []
    for name, weight in zip(classes, weights, strict=True):
        queue = _merged(record.queue, own.queue, name)
        chosen = weight if queue.weight is None else queue.weight
        if kind.IN_BYTES and chosen < largest:
            raise InputError(
                f"{place}: queue {name}: quantum must be at least the largest frame of {largest} bytes, got {chosen}"
            )
        queues.append(ClassQueue(chosen, _limits(f"{place}: queue {name}", queue, rate)))
    with told_at(place):
        shaping = None if own.shape is None else Shaping(TokenRate.of(own.shape.rate), own.shape.burst)
        return OutputPort(rate, tuple(queues), scheduler, PREAMBLE, GAP, shaping, largest)


def _merged(common: Mapping[str, QueueRecord], own: Mapping[str, QueueRecord], name: str) -> QueueRecord:
    """Return a class's table of this port, else the table of all ports, else the defaults."""
    return own.get(name) or common.get(name) or QueueRecord()


def _limits(place: str, record: QueueRecord, rate: TokenRate) -> QueueLimits:
    """Return the limits and early drop of a queue."""
    with told_at(place):
        early = None
        if record.early is not None:
            chance = Fraction(f"{record.early.chance:.12g}")
            lows, highs = record.early.low, record.early.high
            green, yellow, red = (Thresholds(low, high, chance) for low, high in zip(lows, highs, strict=True))
            small = -(-SHORTEST * rate.denominator // rate.numerator)
            early = EarlyDrop((green, yellow, red), record.early.shift, small)
        packets = QueueLimits().packets if record.packets is None and record.bytes is None else record.packets
        return QueueLimits(packets, record.bytes, early)
