"""Gorilla's engine as Verilog with its test bench, and simulations that are compared with the step program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from npexplore.designs.gorilla.hardware_cases import rated, tried
from npexplore.designs.gorilla.lowered import RESULTS, lowered_router, registers_of, verdict
from npexplore.designs.gorilla.steps.router import Box, engine_program, forward
from npexplore.designs.gorilla.steps.router import accelerators as accelerators_of
from npexplore.errors import InputError
from npexplore.golden.lookup import Lpm
from npexplore.hardware.allocation import places_of
from npexplore.hardware.bench import MOST_PACKETS, Routes, bench_text, write_files
from npexplore.hardware.engine import engine_text
from npexplore.hardware.playback import STALLS, Found
from npexplore.hardware.shapes import leaves
from npexplore.hardware.simulators import build_bench, run_built, simulator
from npexplore.hardware.verilog import Packed, ports_of
from npexplore.machine.step_programs import Answer

Case = tuple[int, bytes]
ENGINE, BENCH, README = "engine.v", "bench.v", "README.md"
COUNTS, LABEL_BITS = "flow_counter", 20
Flow = tuple[int, ...]
BITS = {"lookup4": 32, "lookup6": 128, "flow_counter": 36, "label_table": LABEL_BITS}  # widths of accelerators' keys


class EngineFiles:
    """The texts of one engine's files; box: the router's tables; delay: cycles of a lookup."""

    def __init__(
        self, box: Box, protocols: Sequence[str] = ("ipv4",), counting: bool = False, threads: int = 4,
        delay: int = 12, scheduler: str = "ready", stores: str = "registers",
    ) -> None:  # fmt: skip
        self.box, self.protocols, self.counting = box, tuple(protocols), counting
        self.threads, self.delay, self.scheduler, self.stores = threads, delay, scheduler, stores
        self.compiled = engine_program(box, protocols, counting)
        self.program = lowered_router(box, protocols, counting)
        self.context = places_of(self.program)
        self.ports = ports_of(self.program)
        names = set(self.context.at)
        initial_leaves = [leaf for leaf in self.program.registers if leaf[0].split(".")[0] in ("port", "frame")]
        result_leaves = [leaf for result in RESULTS for leaf in leaves(self.program.shapes[result], result)]
        self.begins = Packed.of(initial_leaves)
        self.results = Packed.of(leaf for leaf in result_leaves if leaf[0] in names)

    def engine(self, apart: bool = False) -> str:
        """Return the engine and its steps; apart: Verilator compiles identical engines only once."""
        pieces = {name: len(self.compiled.pieces[name]) for name in self.program.steps}
        return engine_text(
            self.program,
            pieces,
            self.context,
            self.ports,
            self.begins,
            self.results,
            self.scheduler,
            self.stores,
            apart,
        )

    def bench(self) -> str:
        """Return the test bench with the router's routes."""
        delay = self.delay
        return bench_text(self.ports, self.begins, self.results, self.routes(), BITS, self.threads, delay)

    def routes(self) -> dict[str, Routes | None]:
        """Return each accelerator's table as prefixes; None for an accelerator that only counts."""
        routes: dict[str, Routes | None] = {"lookup4": routes_of(self.box.ipv4.lpm), "flow_counter": None}
        if self.box.ipv6 is not None:
            routes["lookup6"] = routes_of(self.box.ipv6.lpm)
        if self.box.labels is not None:
            rows = self.box.labels.number.items()
            routes["label_table"] = [(label, LABEL_BITS, number) for label, number in rows]
        return routes

    def readme(self) -> str:
        """Return a description of the files, of the engine's ports and of its registers, as Markdown."""
        ports = [
            f"| `{name}_*` | {self.ports.asks[name]} bits asked, {self.ports.replies[name].bits} answered |"
            for name in self.ports.asks
        ]
        shown = [f"| `{name}` | {low + bits - 1}:{low} |" for name, (low, bits) in self.results.at.items()]
        steps = [f"| `{step}` | {len(self.compiled.pieces[step])} |" for step in self.program.steps]
        return "\n".join([
            f"# Engine of {self.threads} threads: {', '.join(self.protocols)}", "",
            f"`{ENGINE}`: the engine (Verilog 2005). `{BENCH}`: a test bench with the routes of one router;",
            "it reads `packets.hex`, writes `results.txt`, and takes `+packets=N +stalls=S` (of 16 cycles).", "",
            "Streams are ready/valid: data is taken on a rising edge of `clk` where both are 1; `rst` is synchronous.",
            "", "| stream | what |", "|---|---|",
            f"| `in_*` | a packet: tag, {self.begins.bits} bits (port, length, the first bytes of the frame) |",
            f"| `out_*` | its verdict: tag, {self.results.bits} bits; in the order in which packets are done |",
            *ports, "",
            "A port asks by `_valid _ready _who _ask`; it is answered in any order by `_done _take _for _reply`.",
            "", "| step | cycles of the request builder |", "|---|---|", *steps, "",
            "| part of a verdict | bits |", "|---|---|", *shown, "",
        ])  # fmt: skip

    def write(self, folder: Path) -> list[Path]:
        """Write the files into a folder, which is created if missing; return their paths."""
        return write_files(folder, self.texts())

    def texts(self) -> dict[str, str]:
        """Return the text of each file, by file name."""
        return {ENGINE: self.engine(), BENCH: self.bench(), README: self.readme()}

    def verify(
        self, folder: Path, cases: Sequence[Case], rated: Sequence[Case] | None = None, simulator_name: str = "",
        brief: bool = False,
    ) -> Found:  # fmt: skip
        """Simulate the folder's files with random stalls, then without, and compare them with the step program.

        rated: the packets of the second run, whose cycles are reported (None: `cases`). brief: stop after the first run
        with a difference. Raises InputError without a simulator, and for more packets than the bench holds.
        """
        second = cases if rated is None else rated
        for packets in (cases, second):
            if not 1 <= len(packets) < MOST_PACKETS:
                raise InputError(f"packets to verify must be 1 to {MOST_PACKETS - 1}, got {len(packets)}")
        most_packets = max(len(cases), len(second))
        command = build_bench(folder, [ENGINE, BENCH], simulator_name or simulator(len(cases)), packets=most_packets)
        stalled_lines, cycles = self._run(folder, command, cases, STALLS)
        faults, message = self._differences(cases, stalled_lines, self._counted(folder))
        if faults and brief:
            return Found(len(cases), faults, message, 0, cycles / len(cases))
        plain_lines, cycles = self._run(folder, command, second, 0)
        more_faults, second_message = self._differences(second, plain_lines, self._counted(folder))
        order = [int(line.split()[0], 16) for line in plain_lines]
        overtaken = sum(earlier > later for earlier, later in pairwise(order))
        return Found(
            len(cases) + len(second), faults + more_faults, message or second_message, overtaken, cycles / len(second)
        )

    def run_cycles(self, folder: Path, cases: Sequence[Case], simulator_name: str = "") -> int:
        """Return the cycles of a run without stalls, from the first packet's entry to the last packet's exit."""
        name = simulator_name or simulator(len(cases))
        command = build_bench(folder, [ENGINE, BENCH], name, packets=len(cases))
        return self._run(folder, command, cases, 0)[1]

    def _run(
        self, folder: Path, command: Sequence[str], cases: Sequence[Case], stalls: int
    ) -> tuple[list[str], int]:  # fmt: skip
        self.write_packets(folder, cases)
        return run_built(folder, command, packets=len(cases), stalls=stalls)

    def write_packets(self, folder: Path, cases: Sequence[Case]) -> None:
        """Write packets.hex, which the bench reads."""
        width = -(-self.begins.bits // 4)
        lines = [f"{self._number(port, frame):0{width}x}" for port, frame in cases]
        (folder / "packets.hex").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _number(self, port: int, frame: bytes) -> int:
        registers, number = registers_of(self.program, port, frame), 0
        for name, (low, bits) in self.begins.at.items():
            number |= (registers[name] & (1 << bits) - 1) << low
        return number

    def _counted(self, folder: Path) -> Counter[Flow]:
        """Return how often the engine asked the bench to count each flow."""
        counts = Counter[Flow]()
        for port, name in self.ports.accelerator.items():
            if name == COUNTS:
                widths = self.ports.widths[port]
                words = (folder / f"{port}.txt").read_text(encoding="utf-8").split()
                counts.update(cut(int(line, 16), widths) for line in words)
        return counts

    def _differences(
        self, cases: Sequence[Case], lines: Sequence[str], counted: Counter[Flow] | None = None
    ) -> tuple[int, str]:
        """Return how many packets and flows differ, and a text on the first; counted: None if it is not recorded."""
        results, faults, message = dict[int, int](), 0, ""
        expected_verdicts, flows = self.expected(cases)
        signed = {name for name, lowest, _ in self.program.registers if lowest < 0}
        for line in lines:
            tag, text = line.split()
            if set(line.lower()) & set("xz"):
                faults, message = faults + 1, message or f"a packet left undefined, as {line[:40]}"
                continue
            if int(tag, 16) in results:
                faults, message = faults + 1, message or f"packet {int(tag, 16)} came twice"
                continue
            results[int(tag, 16)] = int(text, 16)
        for number, ((_, frame), expected) in enumerate(zip(cases, expected_verdicts, strict=True)):
            if number not in results:
                faults, message = faults + 1, message or f"packet {number} was lost"
                continue
            registers = {name: self.results.value(results[number], name, name in signed) for name in self.results.at}
            actual = self._verdict(registers, frame)
            if actual != expected:
                faults, message = (
                    faults + 1,
                    message or f"packet {number}: hardware says {actual}, the step program {expected}",
                )
        miscounts, count_message = miscounted(flows, counted)
        return faults + miscounts, message or count_message

    def expected(self, cases: Sequence[Case]) -> tuple[list[tuple[Any, Any, Any]], Counter[Flow]]:
        """Run the step program: return (sent, reason, left to control) of each packet, and the count of each flow."""
        units, flows = dict(accelerators_of(self.box)), Counter[Flow]()

        def count(flow: Flow) -> Answer:
            flows[flow] += 1
            return Answer(None)

        units[COUNTS] = count
        outcomes = (forward(self.compiled, units, port, frame).context for port, frame in cases)
        return [(context.sent, context.reason, context.left_to_control) for context in outcomes], flows

    def _verdict(self, left: dict[str, int], frame: bytes) -> object:
        try:
            outcome = verdict(self.program, left, frame)
        except (KeyError, IndexError) as error:  # no reason or kind has this number
            return error
        return outcome.sent, outcome.reason, outcome.left_to_control


def miscounted(flows: Counter[Flow], counted: Counter[Flow] | None) -> tuple[int, str]:
    """Return how many flows have a wrong count, and a text on the first one; counted: None if it is not recorded."""
    faults, message = 0, ""
    for flow in flows.keys() | counted.keys() if counted is not None else ():
        if counted is not None and flows[flow] != counted[flow]:
            description = f"flow {flow} is counted {counted[flow]} times, by the step program {flows[flow]}"
            faults, message = faults + 1, message or description
    return faults, message


def cut(number: int, widths: Sequence[int]) -> Flow:
    """Split a number into fields of the given widths in bits, lowest field first."""
    parts = []
    for width in widths:
        parts.append(number & (1 << width) - 1)
        number >>= width
    return tuple(parts)


def routes_of(lpm: Lpm) -> Routes:
    """Return the routes of a table as prefixes, the longest first."""
    rows = lpm.routes()
    routes = []
    for row in range(len(rows.length)):
        value = rows.value[row]
        number = int(value) if np.ndim(value) == 0 else int(value[0]) << 64 | int(value[1])
        routes.append((number, int(rows.length[row]), int(rows.next_hop[row])))
    return sorted(routes, key=lambda row: (-row[1], row[0]))


def rated_and_hostile(tables: Box, protocols: Sequence[str], count: int) -> tuple[list[Case], list[Case]]:
    """Return minimum-size frames that are forwarded, of protocols in turn, and frames that test every rule."""
    forwarded = rated(tables, protocols, count)
    return forwarded, tried(tables, protocols, count, known=forwarded)
