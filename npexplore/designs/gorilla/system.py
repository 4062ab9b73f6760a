"""Gorilla's processor with built-in accelerators, as Verilog: label tables in clusters, flow counters at channels.

    label table    a miss becomes a call of `label_memory`, the table of all labels in the channels' memory
    flow counters  at each channel (in a single cluster: at its port), with a memory of their own at the core's clock;
                   a flow's count is the sum over them

Lookups are done by the bench or by trie walks (`ProcessorFiles`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from npexplore.designs.gorilla.hardware import COUNTS, Flow
from npexplore.designs.gorilla.processor import TAG, ProcessorFiles
from npexplore.designs.gorilla.steps.router import Box
from npexplore.errors import one_of
from npexplore.hardware.engine import store
from npexplore.hardware.templates.bench import Beside, Kind, Unit
from npexplore.hardware.templates.group import Face, at
from npexplore.hardware.templates.inside import (
    COUNTED,
    PLACE,
    Counting,
    Lanes,
    counted_text,
    counter_chip_text,
    first_word,
    labelled_face,
    labelled_text,
)
from npexplore.hardware.templates.tables import tables_text
from npexplore.machine.parameters import Parameters

LABELS, MISSES, LABEL_PORT, MISS_PORT = "label_table", "label_memory", "label_table_0", "label_memory_0"
INSIDE = (LABELS, COUNTS)
COUNTER_DELAY = 4  # cycles from a counter's read request to its data
LABEL_READS = 1
UNDEFINED: Flow = (-1,)


class SystemFiles(ProcessorFiles):
    """The texts of a processor's files with built-in accelerators; inside: which of them, if the program calls them.

    Raises UnknownNameError for an accelerator that cannot be built in.
    """

    def __init__(
        self, p: Parameters, box: Box, protocols: Sequence[str] = ("ipv4",), clusters: int | None = None,
        lookups: str = "ideal", inside: Sequence[str] = INSIDE,
    ) -> None:  # fmt: skip
        self.inside = frozenset(one_of("accelerator inside", name, INSIDE) for name in inside)
        super().__init__(p, box, protocols, clusters, lookups)
        called = set(self.ports.accelerator.values())
        self.inside &= called

    def _member(self) -> tuple[Face, Mapping[str, str]]:
        face, accelerator = super()._member()
        if LABELS not in self.inside or LABEL_PORT not in face.ports:
            return face, accelerator
        ports = {MISS_PORT if port == LABEL_PORT else port: name for port, name in accelerator.items()}
        return labelled_face(face, LABEL_PORT, MISS_PORT), ports | {MISS_PORT: MISSES}

    @property
    def counts(self) -> Counting | None:
        """The built-in flow counters; None without them."""
        if COUNTS not in self.inside:
            return None
        bits = self.box.counters.class_bits
        port = next(port for port, name in self.accelerator.items() if name == COUNTS)
        destination_bits, source_bits = self.ports.widths[port]
        parts = (0, destination_bits, bits), (destination_bits, source_bits, bits)
        if self.clusters == 1:
            return Counting([port], parts, COUNTER_DELAY)
        kinds = list(self.top.kinds)
        kind = kinds.index(COUNTS), at(len(kinds))
        return Counting([f"channel{m}" for m in range(self.channels)], parts, COUNTER_DELAY, kind)

    @property
    def around(self) -> Lanes:
        """The module that the counters enclose: the lanes with channels, or a single cluster."""
        name, lanes = super()._top()
        face, port_bits = self.member_face, {}
        if self.clusters == 1:
            port_bits = {port: (face.who, *bits) for port, bits in face.ports.items()}
        else:
            port_bits = {f"channel{m}": self.top.sizes(self.lane_face) for m in range(self.channels)}
        return Lanes(name, lanes, TAG, self.begins.bits, self.results.bits, port_bits)

    def engine(self, apart: bool = True) -> str:
        """Return the Verilog of all modules, followed by those of the built-in accelerators."""
        texts, counts = [super().engine(apart)], self.counts
        if self.inside:
            texts.append(tables_text(store(self.stores)))
        if LABELS in self.inside:
            cache = self.box.label_cache
            texts.append(labelled_text(self.cluster_face, LABEL_PORT, MISS_PORT, cache.sets, cache.bins, 600_000))
        if counts is not None:
            texts.append(counted_text(self.around, counts, 700_000))
        return "\n".join(texts)

    def _top(self) -> tuple[str, list[str]]:
        name, lanes = super()._top()
        return COUNTED if COUNTS in self.inside else name, lanes

    def _rows(self) -> list[str]:
        rows, counts, cache = list[str](), self.counts, self.box.label_cache
        if LABELS in self.inside:
            rows.append(f"| `labelled` | a cluster with its label table, {cache.sets} sets of {cache.bins} |")
        if counts is not None:
            pins = ", ".join(f"`{port}_*`" for port in counts.ports)
            rows.append(
                f"| `counted` | with flow counters behind {pins}: a memory each at `_read _read_at _read_data "
                f"_write _write_at _write_data`, a word {counts.delay} cycles behind its address |"
            )
        return rows

    def _beside(self) -> Beside | None:
        counting = self.counts
        if counting is None:
            return None
        wires, connections = list[str](), list[str]()
        for k, port in enumerate(counting.ports):
            pins = counting.pins(port)
            wires += [f"  wire [{bits - 1}:0] {pin};" for pin, (_, bits) in pins.items()]
            ends = ", ".join(f".{pin.removeprefix(f'{port}_')}({pin})" for pin in pins)
            wires.append(f"  counter_chip #(.K({k})) chip_{port} (.clk(clk), .rst(rst), {ends});")
            connections += [f".{pin}({pin})" for pin in pins]
        return Beside(counter_chip_text(counting.flow, counting.delay), tuple(wires), tuple(connections))

    def _units(self) -> list[Unit]:
        inside_cluster = self.clusters == 1 and COUNTS in self.inside
        return [unit for unit in super()._units() if not (inside_cluster and unit.kinds[0].name == COUNTS)]

    def _kind(self, name: str, port: str) -> Kind:
        if name != MISSES:
            return super()._kind(name, port)
        routes, reply = self.routes()[LABELS], self.ports.replies[LABEL_PORT]
        return Kind(MISSES, self.label_cycles, LABEL_READS, self.ports.asks[LABEL_PORT], reply, routes)

    def _counted(self, folder: Path) -> Counter[Flow]:
        """Return how often each flow was counted: the increase of its first counter, summed over the memories.

        Counting calls that still reach the bench are added. Errors become flows that do not exist: another counter of
        the flow that changed, and a word whose writes differ from the flow's count.
        """
        counts = self.counts
        if counts is None:
            return super()._counted(folder)
        by_flow, half = super()._counted(folder), self.box.counters.class_bits
        for k in range(len(counts.ports)):
            words, writes = dict[int, int](), Counter[int]()
            for line in (folder / f"counters_{k}.txt").read_text(encoding="utf-8").splitlines():
                if set(line.lower()) & set("xz"):
                    by_flow[UNDEFINED] += 1
                    continue
                place, word = (int(part, 16) for part in line.split())
                words[place], writes[place] = word, writes[place] + 1
            for place, word in words.items():
                number, part, increase = place >> PLACE, place & (1 << PLACE) - 1, word - first_word(place)
                flow = number >> half, number & (1 << half) - 1
                if part == 0:
                    by_flow[flow] += increase
                elif increase:
                    by_flow[(*flow, part)] += 1
                if writes[place] != writes[number << PLACE]:
                    by_flow[(*flow, part, writes[place])] += 1
                if part == 0 and writes[place] != increase:
                    by_flow[(*flow, part, writes[place])] += 1
        return by_flow
