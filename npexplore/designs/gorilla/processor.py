"""Gorilla's clusters and lanes as Verilog: engines behind load balancers, arbiters, reorder queues (Secs. 4.1, 4.5.2).

A single cluster is a group of engines whose ports leave the design. Several clusters form lanes that share the channels
of one memory. A lane takes one packet per cycle, like the `lanes` of the model's pre-processor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import gcd
from pathlib import Path
from typing import NamedTuple

from npexplore.designs.gorilla.hardware import BENCH, BITS, COUNTS, README, Case, EngineFiles, Flow, cut
from npexplore.designs.gorilla.memory import channels_of, reads_per_s
from npexplore.designs.gorilla.steps.router import Box
from npexplore.designs.gorilla.walk import Walk
from npexplore.errors import InputError, one_of
from npexplore.golden.lookup.multibit import MultibitTrie
from npexplore.hardware.bench import MOST_PACKETS
from npexplore.hardware.engine import store
from npexplore.hardware.playback import MOST_STALLS, STALLS, Found
from npexplore.hardware.simulators import OPTIMISED_FROM_PACKETS, build_bench, run_built, simulator
from npexplore.hardware.templates.bench import Beside, Kind, Unit, bench_text
from npexplore.hardware.templates.channels import Processor, processor_text
from npexplore.hardware.templates.group import Face, Group, at, group_text
from npexplore.hardware.templates.memory import SYNCHRONISER, WAVERING_SYNCHRONISER, memory_text
from npexplore.hardware.templates.streams import VALVE, streams_text
from npexplore.machine.parameters import Parameters

TAG = 16  # bits of a packet's number
COUNTER_READS = 3  # reads of 72 bits per counter update, Sec. 4.3
BALANCING = {"in_turn": True, "ideal": False}  # whether a header waits for the cluster whose turn it is
ARBITERS = {"fair": True, "unfair": False}
LOOKUPS = ("ideal", "trie")
PROCESSOR, VALVES, ACCELERATORS, SYNCHRONISERS = "processor.v", "valve.v", "accelerators.v", "synchroniser.v"


class Ran(NamedTuple):
    """A packet that left in a run: its number, its registers as text, and the cycles of exit and entry."""

    number: int
    registers: str
    left: int
    entered: int


class ProcessorFiles(EngineFiles):
    """The texts of a processor's files: clusters, engines and threads of `p`, with balancers, arbiters and queues.

    lookups: `ideal`, the bench compares prefixes; `trie`, hardware walks tries in the memory of each channel.

    Raises InputError for a knob's value without a hardware template.
    """

    def __init__(
        self, p: Parameters, box: Box, protocols: Sequence[str] = ("ipv4",), clusters: int | None = None,
        lookups: str = "ideal",
    ) -> None:  # fmt: skip
        counting = p.flow_counting == "on"
        stores = str(p.lut_structures)
        super().__init__(
            box, protocols, counting, int(p.threads), round(p.lookup_delay or p.lookup_cycles), str(p.scheduler), stores
        )
        self.clusters, self.engines = int(p.clusters) if clusters is None else clusters, int(p.engines)
        if p.when_full != "stall":
            raise InputError(f"hardware has headers wait: when_full must be stall, got {p.when_full!r}")
        strict = BALANCING[one_of("balancing that hardware has", p.balancing, BALANCING)]
        fair = ARBITERS[one_of("local_arbiter that hardware has", p.local_arbiter, ARBITERS)]
        self.fair = ARBITERS[one_of("global_arbiter that hardware has", p.global_arbiter, ARBITERS)]
        self.lanes = gcd(int(p.lanes), self.clusters)
        self.channels = channels_of(p) if self.clusters > 1 else 0
        self.reads = int(reads_per_s(p) / (1e6 * p.core_mhz)) if self.channels else 0
        self.label_cycles = int(p.label_cycles)
        self.ipv6_ratio, self.in_order = float(p.ipv6_delay_ratio), p.reorder == "on"
        places = 1 << (int(p.reorder_places) // self.lanes).bit_length() - 1 if self.in_order else 0
        several = self.clusters > 1
        self.cluster = Group("cluster", self.engines, 0 if several else places, fair=fair, seed=1, apart=several)
        self.lane = Group(
            "lane", self.clusters // self.lanes, places, int(p.fifo_packets), strict, self.fair, gathered=False, seed=2
        )
        ports = {name: (self.ports.asks[name], self.ports.replies[name].bits) for name in self.ports.asks}
        cluster_tag = TAG + self.lane.ticket if several else TAG
        engine_tag, who = cluster_tag + self.cluster.ticket, at(self.threads)
        parameters = f"#(.THREADS({self.threads}), .WHO({who}), .TAG({engine_tag})) "
        begins, results = self.begins.bits, self.results.bits
        self.engine_face = Face("engine", engine_tag, begins, results, who, ports, parameters)
        self.cluster_face = self.cluster.face(self.engine_face, cluster_tag)
        self.member_face, self.accelerator = self._member()
        self.lane_face = self.lane.face(self.member_face, TAG)
        kinds = list(dict.fromkeys(self.accelerator.values()))
        self.top = Processor(self.lanes, self.channels, self.fair, kinds, self.accelerator)
        self.walks = self._walks() if one_of("lookups", lookups, LOOKUPS) == "trie" else {}
        self.core_clocks = reads_per_s(p) / (1e6 * float(p.core_mhz))

    def _member(self) -> tuple[Face, Mapping[str, str]]:
        """Return the interface of a lane's member, and the accelerator that each of its ports calls."""
        return self.cluster_face, self.ports.accelerator

    def _walks(self) -> dict[str, Walk]:
        """Return the trie walk of each kind of lookup, as wide as its port or channel."""
        walks = dict[str, Walk]()
        for port, name in self.ports.accelerator.items():
            if name.startswith("lookup") and name not in walks:
                who, (ask, reply) = self.cluster_face.who, self.cluster_face.ports[port]
                if self.clusters > 1:
                    who, ask, reply = self.top.sizes(self.lane_face)
                walks[name] = Walk(self._trie(name), name, who, ask, reply, self.ports.replies[port])
        return walks

    def _trie(self, name: str) -> MultibitTrie:
        lpm = self.box.ipv4.lpm if name == "lookup4" or self.box.ipv6 is None else self.box.ipv6.lpm
        assert isinstance(lpm, MultibitTrie)
        return lpm

    def accelerators(self) -> str:
        """Return the Verilog of the walks with their channels; "" if lookups are ideal."""
        if not self.walks:
            return ""
        return "\n".join([memory_text(store(self.stores), False), *(walk.text() for walk in self.walks.values())])

    def engine(self, apart: bool = True) -> str:
        """Return the Verilog of all modules: steps, engine, template parts, cluster, and lanes with channels."""
        texts = [super().engine(apart), streams_text(store(self.stores), valve=False)]
        texts.append(group_text(self.cluster, self.engine_face, self.cluster_face.tag))
        if self.clusters > 1:
            texts += [group_text(self.lane, self.member_face, TAG), processor_text(self.top, self.lane_face)]
        return "\n".join(texts)

    def bench(self) -> str:
        """Return the test bench with the router's routes."""
        return self._benched() + (WAVERING_SYNCHRONISER if self.walks else "")

    def _benched(self) -> str:
        """Return the bench without synchronisers."""
        widths = TAG, self.begins.bits, self.results.bits
        top, lanes = self._top()
        return bench_text(top, lanes, widths, self._units(), self.in_order, self.reads, self.counting, self._beside())

    def _top(self) -> tuple[str, list[str]]:
        """Return the name of the top module, and for each lane the suffix of `in` and `out` in its port names."""
        return (
            ("processor", [str(k) for k in range(self.lanes)]) if self.clusters > 1 else (self.member_face.name, [""])
        )

    def _beside(self) -> Beside | None:
        """Return what the bench connects in addition to its units (None: nothing)."""
        return None

    def _units(self) -> list[Unit]:
        """Return the bench's units, one for each port of the top module."""
        if self.clusters == 1:
            face = self.member_face
            return [
                Unit(port, face.who, *bits, (self._kind(self.accelerator[port], port),))
                for port, bits in face.ports.items()
            ]
        who, ask, reply = self.top.sizes(self.lane_face)
        port_of = {name: port for port, name in self.accelerator.items()}
        kinds = tuple(self._kind(name, port_of[name]) for name in self.top.kinds)
        return [Unit(f"channel{m}", who, ask, reply, kinds) for m in range(self.channels)]

    def _kind(self, name: str, port: str) -> Kind:
        """Return the bench's model of an accelerator: its delay, the reads of the longest walk, its routes."""
        if name == "label_table" and self.clusters > 1:
            raise InputError("hardware has a label table in one cluster alone: clusters must be 1 for labels")
        routes, reads = self.routes()[name], COUNTER_READS
        if name.startswith("lookup"):
            reads = len(self._trie(name).STRIDES)
        delay = round(self.delay * (self.ipv6_ratio if name == "lookup6" else 1))
        if name == "label_table":
            delay = self.label_cycles
        bits = min(BITS[name], self.ports.asks[port])
        if name in self.walks:
            walk = self.walks[name]
            module = "\n".join([walk.chip(), walk.answers(self.core_clocks)])
            return Kind(name, 0, 0, bits, self.ports.replies[port], module=module)
        return Kind(name, delay, reads, bits, self.ports.replies[port], routes)

    def readme(self) -> str:
        """Return a description of the files, the ports and the module hierarchy, as Markdown."""
        several = self.clusters > 1
        top, behind = self._top()[0], "K of each lane" if several else ""
        k = "K" if several else ""
        calls = ", ".join(f"`{unit.port}_*`" for unit in self._units())
        if several:
            calls = f"`channelK_*`, {self.channels} of them, {self.reads} reads a cycle each"
        lines = [
            f"# {self.clusters} clusters of {self.engines} engines of {self.threads} threads: "
            + ", ".join(self.protocols), "",
            f"`{PROCESSOR}`: the design (Verilog 2005), top module `{top}`, to be read with `{VALVES}`.",
            *([f"`{ACCELERATORS}`: walks through tries, to be read with `{SYNCHRONISERS}`; their memory: "
               + ", ".join(f"`{name}.hex`." for name in self.walks)] if self.walks else []),
            f"`{BENCH}`: a test bench that brings valves of its own, which stall at random; `+stalls=S` of 16 cycles,",
            "`+packets=N`, `+pool=D`, `+rate=R` packets in 1,000,000 cycles, `+quiet=1`.", "",
            "Streams are ready/valid: data is taken on a rising edge of `clk` where both are 1; `rst` is synchronous.",
            "", "| stream | what |", "|---|---|",
            *self._streams(k, behind),
            f"| {calls} | calls: `_valid _ready _who _ask`, answers in any order: `_done _take _for _reply` |", "",
            "| module | what |", "|---|---|",
            f"| `engine` | {self.threads} threads, scheduler {self.scheduler}, contexts in {self.stores} |",
            f"| `cluster` | {self.engines} engines, local arbiters {_fairness(self.cluster.fair)} |",
        ]  # fmt: skip
        if several:
            lines += [
                f"| `lane` | {self.lane.members} clusters, {self.lane.waiting} headers before each, reorder queue of "
                f"{self.lane.places} |",
                f"| `processor` | {self.lanes} lanes, {self.channels} channels, global arbiters "
                f"{_fairness(self.fair)} |",
            ]
        return "\n".join([*lines, *self._rows(), ""])

    def _streams(self, k: str, behind: str) -> list[str]:
        """Return the README's rows on input and output streams; behind: the meaning of K."""
        order = "in the order of arrival" if self.in_order else "as they are done"
        return [
            f"| `in{k}_*` | packets{behind and f' ({behind})'}: tag of {TAG} bits, {self.begins.bits} bits |",
            f"| `out{k}_*` | verdicts: tag, {self.results.bits} bits; {order} |",
        ]

    def _rows(self) -> list[str]:
        """Return additional rows of the README's table of modules."""
        return []

    def texts(self) -> dict[str, str]:
        """Return the text of each file, by file name."""
        texts = {PROCESSOR: self.engine(), VALVES: VALVE, BENCH: self.bench(), README: self.readme()}
        if self.walks:
            texts |= {ACCELERATORS: self.accelerators(), SYNCHRONISERS: SYNCHRONISER}
            texts |= {f"{name}.hex": walk.memory() for name, walk in self.walks.items()}
        return texts

    def verify(
        self, folder: Path, cases: Sequence[Case], rated: Sequence[Case] | None = None, simulator_name: str = "",
        brief: bool = False,
    ) -> Found:  # fmt: skip
        """Simulate packets and compare them with the step program, as `EngineFiles.verify` does.

        The packets of the second run are also simulated with most cycles stalled: all of them call accelerators, so
        that answers arrive together. `overtaken` counts the run without stalls; with reorder queues, an overtaken
        packet counts as a difference in every run.
        """
        second = cases if rated is None else rated
        command = self.build(folder, simulator_name or simulator(len(cases)))
        faults, message, overtaken, cycles = 0, "", 0, 0
        for sent_cases, stalls in ((cases, STALLS), (second, MOST_STALLS), (second, 0)):
            departures, cycles = self.run(folder, command, sent_cases, stalls=stalls)
            more_faults, difference = self._held(
                sent_cases, departures, self._counted(folder) if self.counting else None
            )
            overtaken = sum(earlier.number > later.number for earlier, later in pairwise(departures))
            if self.in_order and overtaken:
                more_faults, difference = more_faults + overtaken, difference or f"{overtaken} packets were overtaken"
            faults, message = faults + more_faults, message or difference
            if faults and brief:
                break
        return Found(len(cases) + len(second), faults, message, overtaken, cycles / len(second))

    def _held(self, cases: Sequence[Case], ran: Sequence[Ran], counted: Counter[Flow] | None) -> tuple[int, str]:
        return self._differences(cases, [f"{packet.number:x} {packet.registers}" for packet in ran], counted)

    def _counted(self, folder: Path) -> Counter[Flow]:
        """Return how often the bench's units were asked to count each flow; flow (-1,): undefined calls."""
        counts, ports = Counter[Flow](), [unit.port for unit in self._units()]
        port_of = {name: port for port, name in self.accelerator.items()}
        for line in (folder / "asked.txt").read_text(encoding="utf-8").splitlines():
            unit, ask = line.split()
            if set(ask.lower()) & set("xz"):
                counts[(-1,)] += 1
                continue
            call = int(ask, 16)
            if self.clusters == 1:
                port = ports[int(unit)]
            else:  # the top bits of a channel's call are its kind
                kinds = self.top.kinds
                digits = at(len(kinds)) if len(kinds) > 1 else 0
                port = port_of[kinds[call >> self.top.sizes(self.lane_face)[1] - digits]]
            if self.accelerator[port] == COUNTS:
                counts[cut(call, self.ports.widths[port])] += 1
        return counts

    def build(self, folder: Path, name: str, packets: int = OPTIMISED_FROM_PACKETS) -> list[str]:
        """Build the folder's bench with simulator `name` for this number of packets; return the command to run it."""
        files = [PROCESSOR, ACCELERATORS, BENCH] if self.walks else [PROCESSOR, BENCH]
        return build_bench(folder, files, name, apart=True, packets=packets)

    def run(
        self, folder: Path, command: Sequence[str], cases: Sequence[Case], packets: int | None = None, **settings: int
    ) -> tuple[list[Ran], int]:
        """Return the packets in order of exit, and the run's cycles. Cases repeat up to `packets` (None: once each)."""
        count = len(cases) if packets is None else packets
        if not 1 <= count < MOST_PACKETS:
            raise InputError(f"packets to simulate must be 1 to {MOST_PACKETS - 1}, got {count}")
        self.write_packets(folder, cases)
        lines, cycles = run_built(folder, command, packets=count, pool=len(cases), **settings)
        return [_ran(line) for line in lines], cycles


def _fairness(fair: bool) -> str:
    return "in turn" if fair else "by fixed priority"


def _ran(line: str) -> Ran:
    """Return a line of results.txt as a record; an undefined number or cycle is -1."""
    number, registers, left, entered = line.split()
    try:
        return Ran(int(number, 16), registers, int(left), int(entered))
    except ValueError:
        return Ran(-1, "x", -1, -1)
