"""Gorilla's processor with its accelerators inside, as Verilog: label tables in clusters, counters behind channels.

    label table    misses go out as calls of `label_memory`, to the table of all labels in the memory of the channels
    flow counters  behind each channel (of a cluster alone: behind its port), with a memory of their own at the core's
                   clock; a flow's numbers are the sums over them

Lookups stay at the bench, or walk (`ProcessorFiles`).
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
COUNTER_DELAY = 4  # cycles from a read of a counter to its word
LABEL_READS = 1
UNDEFINED: Flow = (-1,)


class SystemFiles(ProcessorFiles):
    """The text of a processor's files with accelerators inside; those that the program calls, or some of them.

    Raises UnknownNameError for an accelerator that is not built inside.
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
        """The counters that are inside, None without."""
        if COUNTS not in self.inside:
            return None
        bits = self.box.counters.class_bits
        port = next(port for port, name in self.accelerator.items() if name == COUNTS)
        to, by = self.ports.widths[port]
        parts = (0, to, bits), (to, by, bits)
        if self.clusters == 1:
            return Counting([port], parts, COUNTER_DELAY)
        kinds = list(self.top.kinds)
        kind = kinds.index(COUNTS), at(len(kinds))
        return Counting([f"channel{m}" for m in range(self.channels)], parts, COUNTER_DELAY, kind)

    @property
    def around(self) -> Lanes:
        """What the counters are around: the lanes with channels, or a cluster."""
        name, lanes = super()._top()
        face, ports = self.member_face, {}
        if self.clusters == 1:
            ports = {port: (face.who, *bits) for port, bits in face.ports.items()}
        else:
            ports = {f"channel{m}": self.top.sizes(self.lane_face) for m in range(self.channels)}
        return Lanes(name, lanes, TAG, self.begins.bits, self.results.bits, ports)

    def engine(self, apart: bool = True) -> str:
        """Return all modules, with those of the accelerators behind."""
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
        counts = self.counts
        if counts is None:
            return None
        wires, links = list[str](), list[str]()
        for k, port in enumerate(counts.ports):
            pins = counts.pins(port)
            wires += [f"  wire [{bits - 1}:0] {pin};" for pin, (_, bits) in pins.items()]
            ends = ", ".join(f".{pin.removeprefix(f'{port}_')}({pin})" for pin in pins)
            wires.append(f"  counter_chip #(.K({k})) chip_{port} (.clk(clk), .rst(rst), {ends});")
            links += [f".{pin}({pin})" for pin in pins]
        return Beside(counter_chip_text(counts.flow, counts.delay), tuple(wires), tuple(links))

    def _units(self) -> list[Unit]:
        alone = self.clusters == 1 and COUNTS in self.inside
        return [one for one in super()._units() if not (alone and one.kinds[0].name == COUNTS)]

    def _kind(self, name: str, port: str) -> Kind:
        if name != MISSES:
            return super()._kind(name, port)
        routes, reply = self.routes()[LABELS], self.ports.replies[LABEL_PORT]
        return Kind(MISSES, self.label_cycles, LABEL_READS, self.ports.asks[LABEL_PORT], reply, routes)

    def _counted(self, folder: Path) -> Counter[Flow]:
        """Return how often each flow was counted: its first counters in the memories, less what they began with.

        Calls that count and come out all the same are counted too. Another counter that changed, and a word that is
        written more or less often than its flow is counted, are told as flows that nobody has.
        """
        counts = self.counts
        if counts is None:
            return super()._counted(folder)
        by_flow, half = super()._counted(folder), self.box.counters.class_bits
        for k in range(len(counts.ports)):
            words, times = dict[int, int](), Counter[int]()
            for line in (folder / f"counters_{k}.txt").read_text(encoding="utf-8").splitlines():
                if set(line.lower()) & set("xz"):
                    by_flow[UNDEFINED] += 1
                    continue
                place, word = (int(part, 16) for part in line.split())
                words[place], times[place] = word, times[place] + 1
            for place, word in words.items():
                number, part, more = place >> PLACE, place & (1 << PLACE) - 1, word - first_word(place)
                flow = number >> half, number & (1 << half) - 1
                if part == 0:
                    by_flow[flow] += more
                elif more:
                    by_flow[(*flow, part)] += 1
                if times[place] != times[number << PLACE]:
                    by_flow[(*flow, part, times[place])] += 1
                if part == 0 and times[place] != more:
                    by_flow[(*flow, part, times[place])] += 1
        return by_flow
