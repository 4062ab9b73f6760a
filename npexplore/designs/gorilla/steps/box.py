"""`Box`: the tables that a router's program looks up: the golden router's tables, a label cache, flow counters."""

from __future__ import annotations

from dataclasses import dataclass, field

from npexplore.golden.flow_counters import FlowCounters
from npexplore.golden.mpls.label_cache import LabelCache, LabelTable
from npexplore.golden.mpls.switch import LabelMap
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.sides import Side4, Side6


@dataclass
class Box:
    """The tables of a router's program: the golden router's, a label cache and flow counters.

    golden: the golden router, whose tables are tries. source_lookup: whether source addresses are looked up, too (flow
    counting needs it). label_sets: the number of sets in a cluster's label table.
    """

    golden: Forwarder
    source_lookup: bool = False
    label_sets: int = 64
    counters: FlowCounters = field(default_factory=FlowCounters)

    def __post_init__(self) -> None:
        table = LabelTable()
        for label, number in (self.labels.number if self.labels is not None else {}).items():
            table.bind(label, number)
        self.label_cache = LabelCache(table, sets=self.label_sets)

    @property
    def ipv4(self) -> Side4:
        """The golden router's IPv4 side."""
        return self.golden.ipv4

    @property
    def ipv6(self) -> Side6 | None:
        """The golden router's IPv6 side; None without IPv6."""
        return self.golden.ipv6

    @property
    def labels(self) -> LabelMap | None:
        """The golden router's label map; None without one."""
        return self.golden.router.labels

    def flow_of(self, source: int | None, destination: int | None) -> tuple[int, int]:
        """Return a flow, (class of destination, class of source) (Sec. 4.3); the last class stands for no route."""
        no_route = (1 << self.counters.class_bits) - 1
        return (
            no_route if destination is None else destination % no_route,
            no_route if source is None else source % no_route,
        )

    def flow_of_label(self, label: int) -> tuple[int, int]:
        """Return the flow of a label: (its upper bits, its lower bits)."""
        bits = self.counters.class_bits
        return label >> bits & (1 << bits) - 1, label & (1 << bits) - 1
