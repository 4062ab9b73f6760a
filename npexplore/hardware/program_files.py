"""The files of a step program as hardware: an engine, pipeline or cluster, and a bench that plays back its calls.

Verification first runs the step program on packets. The bench's units then give the same answers, call by call. Calls
that hardware makes more or less often than the step program count as differences, as do different results. An
accelerator must answer equal calls equally.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from npexplore.display import ShownByArguments
from npexplore.errors import InputError, one_of
from npexplore.hardware.allocation import places_of
from npexplore.hardware.bench import MOST_PACKETS, write_files
from npexplore.hardware.described import Case, StepHardware
from npexplore.hardware.engine import SCHEDULERS, STORES, engine_text, store
from npexplore.hardware.packing import filled, taken
from npexplore.hardware.playback import MOST_STALLS, STALLS, Calls, Found, played_back
from npexplore.hardware.programs import INTEGRITY, Outside
from npexplore.hardware.shapes import Octets, leaves
from npexplore.hardware.simulators import build_bench, run_built, simulator
from npexplore.hardware.templates.bench import Kind, Unit, bench_text
from npexplore.hardware.templates.frames import integrity_text
from npexplore.hardware.templates.group import Face, Group, at, group_text
from npexplore.hardware.templates.inside import summed_face, summed_text
from npexplore.hardware.templates.pipeline import pipeline_text
from npexplore.hardware.templates.streams import VALVE, streams_text
from npexplore.hardware.verilog import Packed, ports_of

DESIGN, VALVES, BENCH, README = "design.v", "valve.v", "bench.v", "README.md"
TEMPLATES = ("engine", "pipeline")
BYTE_BITS = 8
TAG = 16  # bits of a packet's number


@dataclass(frozen=True)
class Knobs:
    """The knobs of a user program's hardware.

    template: `engine` or `pipeline`. threads: threads of an engine, or packets that may wait in each stage of a
    pipeline. engines: members of a cluster, 1 for a single engine or pipeline.
    """

    template: str = "engine"
    threads: int = 4
    engines: int = 1
    lookup_cycles: int = 12
    scheduler: str = "ready"
    lut_structures: str = "registers"
    reorder_places: int = 0

    def __post_init__(self) -> None:
        for name, least in (("threads", 1), ("engines", 1), ("lookup_cycles", 0), ("reorder_places", 0)):
            if getattr(self, name) < least:
                raise InputError(f"{name} must be at least {least}, got {getattr(self, name)}")
        one_of("template", self.template, TEMPLATES)
        one_of("scheduler", self.scheduler, SCHEDULERS)
        one_of("lut_structures", self.lut_structures, STORES)
        if self.reorder_places and self.engines == 1:
            raise InputError("reorder_places needs a cluster: engines must be at least 2")


def knobs_of(texts: Mapping[str, str]) -> Knobs:
    """Return knobs from texts by name; raises InputError for an unknown knob, or a text that is not a whole number."""
    values = dict[str, Any]()
    known = {field.name: field.default for field in dataclasses.fields(Knobs)}
    for name, text in texts.items():
        values[one_of("knob of a step program's hardware", name, known)] = text
        if isinstance(known[name], int):
            try:
                values[name] = int(text)
            except ValueError:
                raise InputError(f"{name} must be a whole number, got {text!r}") from None
    return Knobs(**values)


class ProgramFiles(ShownByArguments):
    """The texts of the files of a step program's hardware."""

    def __init__(self, hardware: StepHardware, knobs: Knobs | None = None) -> None:
        self.hardware, self.knobs = hardware, knobs or Knobs()
        self.program = program = hardware.lowered
        self.context, self.ports = places_of(program), ports_of(program)
        names, initial_names = set(self.context.at), set(hardware.begins)
        self.begins = Packed.of(leaf for leaf in program.registers if leaf[0].split(".")[0] in initial_names)
        result_leaves = [leaf for result in hardware.results for leaf in leaves(program.shapes[result], result)]
        self.results = Packed.of(leaf for leaf in result_leaves if leaf[0] in names)
        ports = {name: (self.ports.asks[name], self.ports.replies[name].bits) for name in self.ports.asks}
        sizes = self.knobs
        self.group = Group("cluster", sizes.engines, sizes.reorder_places, fair=True)
        self.pipeline = sizes.template == "pipeline"
        tag, who = (
            TAG + self.group.ticket if sizes.engines > 1 else TAG,
            1 if self.pipeline else at(sizes.threads),
        )
        parameters = "" if self.pipeline else f"#(.THREADS({sizes.threads}), .WHO({who}), .TAG({tag})) "
        self.member = Face(sizes.template, tag, self.begins.bits, self.results.bits, who, ports, parameters)
        self.inner = self.group.face(self.member, TAG) if sizes.engines > 1 else self.member
        self.summed = self._summed()
        self.top = summed_face(self.inner, self.summed) if self.summed else self.inner

    def _summed(self) -> dict[str, tuple[int, ...]]:
        """Return the ports that integrity units answer, with the bits of each byte of a call."""
        sums = dict[str, tuple[int, ...]]()
        for port, name in self.ports.accelerator.items():
            unit = self.hardware.units[name]
            if isinstance(unit, Outside) and unit.template == INTEGRITY:
                sums[port] = tuple(self.ports.widths[port])
                if max(sums[port]) > BYTE_BITS:
                    raise InputError(f"{name}: an integrity unit takes a field of bytes, got {max(sums[port])} bits")
        return sums

    def design(self) -> str:
        """Return the Verilog of the engine or pipeline with its steps, and of the modules around it."""
        knobs = self.knobs
        context, ports, ends = self.context, self.ports, (self.begins, self.results)
        if self.pipeline:
            text = pipeline_text(self.program, context, ports, *ends, self.member, knobs.threads)
        else:
            pieces = {name: len(self.hardware.compiled.pieces[name]) for name in self.program.steps}
            text = engine_text(self.program, pieces, context, ports, *ends, knobs.scheduler, knobs.lut_structures)
        texts = [text]
        if knobs.engines > 1 or self.pipeline:
            texts.append(streams_text(store(knobs.lut_structures), valve=False))
        if knobs.engines > 1:
            texts.append(group_text(self.group, self.member, TAG))
        if self.summed:
            texts += [integrity_text(), summed_text(self.inner, self.summed, 800_000)]
        return "\n".join(texts)

    def bench(self) -> str:
        """Return the test bench, whose units read their answers from files."""
        units = []
        for port, (ask, reply) in self.top.ports.items():
            text = played_back(port, ask, reply)
            kind = Kind(port, self.knobs.lookup_cycles, 1, ask, self.ports.replies[port], module=text)
            units.append(Unit(port, self.top.who, ask, reply, (kind,)))
        widths = TAG, self.begins.bits, self.results.bits
        name = f"{self.top.name} {self.top.parameters}"
        return bench_text(name, [""], widths, units, self.in_order, call_log=True)

    @property
    def in_order(self) -> bool:
        """Whether packets leave in order of arrival."""
        return bool(self.knobs.reorder_places) or (self.pipeline and self.knobs.engines == 1)

    def readme(self) -> str:
        """Return a description of the files, the ports and the layouts of a packet and its verdict, as Markdown."""
        knobs, name = self.knobs, self.hardware.compiled.program.name
        member_size = f"{knobs.threads} places in each stage" if self.pipeline else f"{knobs.threads} threads"
        size = f"{knobs.engines} {knobs.template}s of {member_size}" if knobs.engines > 1 else member_size

        def rows(packed: Packed) -> list[str]:
            return [f"| `{leaf}` | {low + bits - 1}:{low} |" for leaf, (low, bits) in packed.at.items()]

        calls = [
            f"| `{port}_*` | {ask} bits asked, {reply} answered |" for port, (ask, reply) in self.top.ports.items()
        ]
        return "\n".join([
            f"# {name}: {size}", "",
            f"`{DESIGN}`: the design (Verilog 2005), top module `{self.top.name}`"
            + (f", to be read with `{VALVES}`." if knobs.engines > 1 or self.summed else "."),
            *(f"Inside: `{port}_*`, answered by an integrity unit." for port in self.summed),
            f"`{BENCH}`: a test bench with valves that stall at random: `+stalls=S` of 16 cycles, `+packets=N`.", "",
            "Streams are ready/valid: data is taken on a rising edge of `clk` where both are 1; `rst` is synchronous.",
            "", "| stream | what |", "|---|---|",
            f"| `in_*` | a packet: tag of {TAG} bits, {self.begins.bits} bits |",
            f"| `out_*` | its verdict: tag, {self.results.bits} bits; "
            f"{'in the order of arrival' if self.in_order else 'as they are done'} |", *calls, "",
            "A port asks by `_valid _ready _who _ask`; it is answered in any order by `_done _take _for _reply`.", "",
            "| part of a packet | bits |", "|---|---|", *rows(self.begins), "",
            "| part of a verdict | bits |", "|---|---|", *rows(self.results), "",
        ])  # fmt: skip

    def write(self, folder: Path) -> list[Path]:
        """Write the files into a folder, which is created if missing; return their paths."""
        texts = {DESIGN: self.design(), VALVES: VALVE, BENCH: self.bench(), README: self.readme()}
        return write_files(folder, texts)

    def verify(self, folder: Path, cases: Sequence[Case], simulator_name: str = "", brief: bool = False) -> Found:
        """Simulate the folder's files with stalls, with many stalls and without, and compare with the step program.

        brief: stop after the first run with a difference. Raises InputError without a simulator, for more packets or
        calls than the bench holds, and for an accelerator that answers equal calls differently.
        """
        if not 1 <= len(cases) < MOST_PACKETS:
            raise InputError(f"packets to verify must be 1 to {MOST_PACKETS - 1}, got {len(cases)}")
        calls = Calls(self.hardware, self.ports)
        expected = calls.executed(cases)
        rows = calls.rows(self.top.ports)
        for port, port_rows in rows.items():
            width = -(-sum(self.top.ports[port]) // 4)
            text = "".join(f"{row:0{width}x}\n" for row in sorted(port_rows)) or "0\n"
            (folder / f"{port}.hex").write_text(text, encoding="utf-8")
        width = -(-self.begins.bits // 4)
        lines = [f"{self._number(case):0{width}x}\n" for case in cases]
        (folder / "packets.hex").write_text("".join(lines), encoding="utf-8")
        name = simulator_name or simulator(len(cases))
        command = build_bench(folder, [DESIGN, BENCH], name, packets=len(cases))
        faults, message, overtaken, cycles = 0, "", 0, 0
        sizes = {f"rows_{port}": len(port_rows) for port, port_rows in rows.items()}
        for stalls in (STALLS, MOST_STALLS, 0):
            left, cycles = run_built(folder, command, packets=len(cases), stalls=stalls, **sizes)
            more, difference, overtaken = self._differences(cases, expected, left)
            wrong_calls, call_difference = calls.differences(
                list(self.top.ports), (folder / "asked.txt").read_text(encoding="utf-8")
            )
            faults, message = faults + more + wrong_calls, message or difference or call_difference
            if self.in_order and overtaken:
                faults, message = faults + overtaken, message or f"{overtaken} packets were overtaken"
            if faults and brief:
                break
        return Found(3 * len(cases), faults, message, overtaken, cycles / len(cases))

    def _number(self, case: Case) -> int:
        registers: dict[str, int] = {}
        for name, shape in self.hardware.begins.items():
            registers |= filled(shape, case[name], name)
        number = 0
        for name, (low, bits) in self.begins.at.items():
            number |= (registers.get(name, 0) & (1 << bits) - 1) << low
        return number

    def _differences(
        self, cases: Sequence[Case], expected: Sequence[Mapping[str, Any]], left: Sequence[str]
    ) -> tuple[int, str, int]:
        """Return how many packets differ, a text on the first, and how many packets were overtaken."""
        results, order, faults, message = dict[int, str](), list[int](), 0, ""
        for line in left:
            tag, text = line.split()[:2]
            number = int(tag, 16) if not set(line.lower()) & set("xz") else -1
            order.append(number)
            if number in results or not 0 <= number < len(cases):
                description = (
                    f"packet {number} came twice" if number in results else f"a packet left undefined, as {line[:40]}"
                )
                faults, message = faults + 1, message or description
            else:
                results[number] = text
        for k, (case, wanted) in enumerate(zip(cases, expected, strict=True)):
            actual = self._verdict(results[k], case) if k in results else "nothing: it was lost"
            if actual != wanted:
                faults, message = (
                    faults + 1,
                    message or f"packet {k}: hardware says {actual}, the step program {wanted}",
                )
        return faults, message, sum(earlier > later for earlier, later in pairwise(order))

    def _verdict(self, text: str, case: Case) -> object:
        number, tail = int(text, 16), b""
        for name, shape in self.hardware.begins.items():
            if isinstance(shape, Octets) and shape.tail:
                tail = case[name][shape.window :]
        signed = {name for name, lo, _ in self.program.registers if lo < 0}
        registers = {name: self.results.value(number, name, name in signed) for name in self.results.at}
        try:
            return {name: taken(self.program.shapes[name], registers, name, tail) for name in self.hardware.results}
        except (KeyError, IndexError) as error:  # no kind has this number
            return error
