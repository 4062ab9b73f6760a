"""A trie walk as hardware: a lookup's step program as a pipeline that reads a memory channel (Sec. 4.2).

    who, address -> level 1 -> level 2 -> level 3 -> who, next hop
                      |          |          |
                      +---- ports of one `qdr` channel (clock crossing, pins)

A memory word is one entry; levels follow each other. The paper packs two entries of the last level into a word; this is
not built. A constant table of at most 1,024 rows maps leaves to next hops.
"""

from __future__ import annotations

from functools import partial

from npexplore.designs.gorilla.steps.accelerators import trie_program
from npexplore.golden.lookup.multibit import MultibitTrie
from npexplore.hardware.described import StepHardware
from npexplore.hardware.program_files import Knobs, ProgramFiles
from npexplore.hardware.programs import Outside
from npexplore.hardware.shapes import Whole
from npexplore.hardware.templates.group import Face, at
from npexplore.hardware.templates.memory import chip_text
from npexplore.hardware.templates.pipeline import pipeline_text
from npexplore.hardware.verilog import Packed
from npexplore.machine.step_programs import Answer, Context, Step, StepProgram, compile_steps

DELAY = 6  # memory clocks from a read request to its data
PLACES = 16  # lookups that may wait at each level


def walk_hardware(trie: MultibitTrie) -> StepHardware:
    """Return the walk through a trie as hardware: inputs `key` and its first index `at`, outputs `found` and `hop`."""
    walk = trie_program(trie).program
    largest_leaf = max(
        1, max(int(trie.level(n)[trie.level(n) < trie.limit].max(initial=0)) for n in range(len(trie.STRIDES)))
    )
    hops = tuple(-1 if (hop := trie.hop_of(leaf)) is None else hop for leaf in range(largest_leaf + 1))
    program = StepProgram(walk.name, walk.start, walk.fields.values())
    for step in walk.steps.values():
        program.add(step if step.name != "done" else Step("done", partial(_put_hop, hops), keeps=()))
    bits, last = trie.family.bits, len(trie.STRIDES) - 1
    largest_entry = max(int(trie.level(n).max(initial=0)) for n in range(last + 1))
    largest_values = [max(1, largest_leaf if n == last else largest_entry) for n in range(last + 1)]
    return StepHardware(
        compile_steps(program, bits),
        {"key": Whole(0, (1 << bits) - 1), "at": Whole(0, (1 << trie.STRIDES[0]) - 1)},
        ["found", "hop"],
        {f"memory{n + 1}": Outside(Whole(0, largest_values[n])) for n in range(last + 1)},
        {f"memory{n + 1}": partial(_entry, trie, n) for n in range(last + 1)},
    )


def _put_hop(hops: tuple[int, ...], c: Context) -> None:
    hop = hops[c.leaf]
    c.found, c.hop = int(hop >= 0), max(hop, 0)


def _entry(trie: MultibitTrie, level: int, index: int) -> Answer:
    return Answer(trie.entry(level, index), {"reads": 1})


def memory_rows(trie: MultibitTrie) -> tuple[list[int], list[int]]:
    """Return the words of a trie's memory, level after level, and the first address of each level."""
    words, bases = list[int](), list[int]()
    for n in range(len(trie.STRIDES)):
        bases.append(len(words))
        words += trie.level(n).tolist() or [0]
    return words, bases


def memory_text(words: list[int]) -> str:
    """Return the non-zero words as the text of a $readmemh file."""
    return "".join(f"@{k:x} {word:x}\n" for k, word in enumerate(words) if word) or "@0 0\n"


class Walk:
    """A trie walk's modules: `walk_NAME` with memory pins; `answers_NAME`, the walk with a memory chip for a bench.

    who, ask, reply: bits of the caller's number, of the request and of the reply; packed: fields of the reply.
    """

    def __init__(self, trie: MultibitTrie, name: str, who: int, ask: int, reply: int, packed: Packed) -> None:
        self.name, self.who, self.ask, self.reply, self.packed = name, who, ask, reply, packed
        self.files = ProgramFiles(walk_hardware(trie), Knobs(template="pipeline", threads=PLACES))
        self.words, self.bases = memory_rows(trie)
        self.address, self.key = at(len(self.words)), trie.family.bits
        self.first = self.key - trie.STRIDES[0]
        self.data = max(reply for _, reply in self.files.member.ports.values())

    def text(self) -> str:
        """Return the walk's Verilog; it uses the modules of stream and memory templates."""
        files, member = self.files, self.files.member
        face = Face(f"levels_{self.name}", self.who, member.begins, member.results, member.who, member.ports)
        steps = pipeline_text(
            files.program, files.context, files.ports, files.begins, files.results, face, PLACES
        ).replace("step_", f"step_{self.name}_")
        return "\n".join([steps, self._around(face)])

    def _around(self, face: Face) -> str:
        """Return the Verilog of the pipeline connected to its channel."""
        n, address = len(face.ports), self.address
        wires, pins, order = list[str](), list[str](), list(face.ports)
        for k, (port, (ask, reply)) in enumerate(face.ports.items()):
            wires += [f"  wire [{ask - 1}:0] {port}_ask;", f"  wire {port}_who;"]
            wires.append(f"  wire [{address - 1}:0] at_{port} = {address}'d{self.bases[k]} + {port}_ask;")
            pins += [f".{port}_valid(asks[{k}])", f".{port}_ready(taken[{k}])", f".{port}_who({port}_who)"]
            low = k * (self.data + 1)
            pins += [f".{port}_ask({port}_ask)", f".{port}_done(done[{k}])", f".{port}_take(takes[{k}])"]
            pins += [f".{port}_for(1'b0)", f".{port}_reply(found[{low + reply - 1}:{low}])"]
        begins = {"key": f"address[{self.key - 1}:0]", "at": f"address[{self.key - 1}:{self.first}]"}
        packet_bits = ", ".join(begins[name] for name in reversed(list(self.files.begins.at)))
        results, parts = self.files.results, []
        for name, field in (("found", ".kind"), ("hop", ".is1")):
            (low, bits) = self.packed.at[field]
            result_bits = results.at.get(name, (0, 0))[1]
            value = f"{{{bits}'d0, left{results.slice(name)}}}" if result_bits else f"{bits}'d0"
            parts += [
                f"  wire [{bits - 1}:0] told_{name} = {value};",
                f"  assign out_data[{low + bits - 1}:{low}] = told_{name};",
            ]
        requests = ", ".join(f"1'b0, at_{port}" for port in reversed(order))
        return "\n".join([
            f"module walk_{self.name} (", "  input clk, input rst, input mem_clk, input mem_rst,",
            f"  input in_valid, output in_ready, input [{self.who + self.ask - 1}:0] in_data,",
            f"  output out_valid, input out_ready, output [{self.who + self.reply - 1}:0] out_data,",
            f"  output read, output [{address - 1}:0] read_at, input [{self.data - 1}:0] read_data", ");",
            f"  wire [{n - 1}:0] asks, taken, done, takes;", f"  wire [{n * (self.data + 1) - 1}:0] found;",
            f"  wire [{self.key - 1}:0] address = in_data[{self.key - 1}:0];",
            f"  wire [{face.results - 1}:0] left;", *wires,
            f"  {face.name} levels (.clk(clk), .rst(rst), .in_valid(in_valid), .in_ready(in_ready), "
            f".in_tag(in_data[{self.who + self.ask - 1}:{self.ask}]), .in_packet({{{packet_bits}}}), "
            ".out_valid(out_valid), .out_ready(out_ready), "
            f".out_tag(out_data[{self.who + self.reply - 1}:{self.reply}]), .out_packet(left), {', '.join(pins)});",
            f"  qdr #(.N({n}), .AT({at(n)}), .WHO(1), .ADDRESS({address}), .DATA({self.data}), .DELAY({DELAY}), "
            ".QUEUE(4)) channel (.clk(clk), .rst(rst), .mem_clk(mem_clk), .mem_rst(mem_rst), .in_valid(asks), "
            f".in_ready(taken), .in_data({{{requests}}}), .out_valid(done), .out_ready(takes), .out_data(found), "
            ".read(read), .read_at(read_at), .read_data(read_data));",
            *parts, "endmodule", "",
        ])  # fmt: skip

    def chip(self) -> str:
        """Return a test bench's model of the memory chip; it reads NAME.hex."""
        return chip_text(f"chip_{self.name}", self.address, self.data, DELAY, f"{self.name}.hex", len(self.words))

    def answers(self, core_clocks: float) -> str:
        """Return a bench unit that answers by walking; core_clocks: memory clocks per core clock."""
        back, ask = self.who + self.reply, self.who + self.ask
        links = ", ".join(f".{wire}({wire})" for wire in ("clk", "rst", "mem_clk", "mem_rst", "in_valid", "in_ready"))
        return f"""module answers_{self.name} #(parameter WHO = 2, parameter DELAY = 12) (
  input clk, input rst, input in_valid, output in_ready, input [{ask - 1}:0] in_data,
  output out_valid, input out_ready, output [{back - 1}:0] out_data
);
  reg mem_clk = 1'b0;
  reg mem_rst = 1'b1;
  reg [3:0] held = 4'd0;
  always #{5 / core_clocks:.3f} mem_clk = ~mem_clk;
  always @(posedge mem_clk) begin
    held <= held + {{3'd0, mem_rst}};
    if (&held) mem_rst <= 1'b0;
  end
  wire read;
  wire [{self.address - 1}:0] read_at;
  wire [{self.data - 1}:0] read_data;
  walk_{self.name} walk ({links}, .in_data(in_data), .out_valid(out_valid), .out_ready(out_ready), .out_data(out_data),
    .read(read), .read_at(read_at), .read_data(read_data));
  chip_{self.name} chip (.clk(mem_clk), .read(read), .read_at(read_at), .read_data(read_data));
endmodule
"""

    def memory(self) -> str:
        """Return the text of NAME.hex."""
        return memory_text(self.words)
