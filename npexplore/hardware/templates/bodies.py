"""Whole frames around a processor, as Verilog: header and body split before it, recombined in order behind (Sec. 4.1).

    words of frames -> way_in -> header, port, length -> processor -> verdict, header -> rejoin -> words of frames
                          |                 |                                              |
                          +-> body queue ---|----------------------------------------------+
                                            +-> headers as they came ---(left to control)--+

A word has 16 bytes, as in `frames`. A packet enters the processor when the last word of its frame has arrived, because
its length is not known before; the body queue must therefore hold the body of the longest frame. A header that leaves
may be longer or shorter than the original by any number of bytes; the body is shifted accordingly. The frame is cut to
the length in the verdict. A dropped frame sends no words. A frame for the control processor leaves unchanged, with a
mark. Verdicts must arrive in the order of the frames.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from npexplore.hardware.templates.group import at, valve

BYTES, WORD, LENGTH = 16, 134, 17  # bytes of a word; its bits with {last, bytes}; bits of a frame's length
FRAMED, FRAMES = "framed", "frames"
LENGTHS = 4  # complete frames that may wait until their header is taken

WAY_IN = f"""module way_in #(parameter HEAD = 5, parameter AT = 3, parameter PORT = 2) (
  input clk, input rst, input in_valid, output in_ready, input [PORT+{WORD - 1}:0] in_data,
  output head_valid, input head_ready, output [PORT+{LENGTH - 1}+HEAD*128:0] head_data,
  output body_valid, input body_ready, output [{WORD - 1}:0] body_data
);
  reg [{LENGTH - 1}:0] passed;
  wire split_ready, room, there, told;
  wire last = in_data[133];
  wire [{LENGTH - 1}:0] length = passed + {{{LENGTH - 5}'d0, in_data[132:128]}};
  wire [AT+5+HEAD*128:0] record;
  wire [PORT+{LENGTH - 1}:0] known;
  assign in_ready = split_ready & room;
  split #(.HEAD(HEAD), .AT(AT)) apart (.clk(clk), .rst(rst), .in_valid(in_valid & room), .in_ready(split_ready),
    .in_data(in_data[{WORD - 1}:0]), .head_valid(there), .head_ready(head_ready & told), .head_data(record),
    .body_valid(body_valid), .body_ready(body_ready), .body_data(body_data));
  queue #(.PLACES({LENGTHS}), .AT({at(LENGTHS)}), .WIDTH(PORT + {LENGTH})) lengths (.clk(clk), .rst(rst),
    .in_valid(in_valid & in_ready & last), .in_ready(room), .in_data({{in_data[PORT+{WORD - 1}:{WORD}], length}}),
    .out_valid(told), .out_ready(head_ready & there), .out_data(known));
  assign head_valid = there & told;
  assign head_data = {{known, record[HEAD*128-1:0]}};
  always @(posedge clk)
    if (rst) passed <= 0;
    else if (in_valid & in_ready) passed <= last ? 0 : passed + {LENGTH}'d16;
endmodule
"""

REJOIN = f"""module rejoin #(parameter HEAD = 5, parameter AT = 3, parameter SIDE = 3) (
  input clk, input rst, input head_valid, output head_ready, input gone, input rest, input [SIDE-1:0] side,
  input [{LENGTH - 1}:0] length, input [AT+4:0] count, input [HEAD*128-1:0] head_data,
  input body_valid, output body_ready, input [{WORD - 1}:0] body_data,
  output out_valid, input out_ready, output [SIDE+{WORD - 1}:0] out_data
);
  localparam FREE = 0, HEADS = 1, BODY = 2, DRAINS = 3;
  reg [1:0] state;
  reg [AT-1:0] sent;
  reg [{LENGTH - 1}:0] left;
  reg [AT+4:0] have;
  reg [HEAD*128-1:0] data;
  reg [SIDE-1:0] beside;
  reg [127:0] carry;
  reg [3:0] carried;
  reg open;
  wire [127:0] word = data[sent*128 +: 128];
  wire enough = (have >= 16) | (left <= have);
  wire needs = (left > carried) & open;
  wire last = left <= 16;
  wire [127:0] body = body_data[127:0];
  wire [127:0] moved = carry | (needs ? body >> {{carried, 3'd0}} : 128'd0);
  wire gives = out_valid & out_ready;
  wire more = open & ~(body_ready & body_valid & body_data[133]);
  assign head_ready = state == FREE;
  assign out_valid = ((state == HEADS) & enough) | ((state == BODY) & (~needs | body_valid));
  assign out_data = {{beside, last, last ? left[4:0] : 5'd16, (state == HEADS) ? word : moved}};
  assign body_ready = (state == DRAINS) | ((state == BODY) & needs & out_ready);
  always @(posedge clk)
    if (rst) begin
      state <= FREE; sent <= 0; left <= 0; have <= 0; carried <= 0; open <= 1'b0;
    end else begin
      if (state != FREE) open <= more;
      if (gives) left <= left - {LENGTH}'d16;
      case (state)
        FREE: if (head_valid) begin
          data <= head_data; left <= length; have <= count; sent <= 0; beside <= side; open <= rest;
          if (~gone) state <= HEADS; else if (rest) state <= DRAINS;
        end
        HEADS: if (~enough) begin
          carry <= word & ~({{128{{1'b1}}}} >> {{have[3:0], 3'd0}}); carried <= have[3:0]; state <= BODY;
        end else if (out_ready) begin
          sent <= sent + 1'b1; have <= have - 16;
          if (last) state <= more ? DRAINS : FREE;
        end
        BODY: if (gives) begin
          carry <= needs ? body << (8'd128 - {{1'b0, carried, 3'd0}}) : 128'd0;
          if (last) state <= more ? DRAINS : FREE;
        end
        default: if (~more) state <= FREE;
      endcase
    end
endmodule
"""


@dataclass(frozen=True)
class Framing:
    """The conversion of frames to a processor's packets, and of its verdicts to frames.

    words: words of the window; tag, begins, results: bits of the processor's streams; port: bits of a port's number.
    frame: for each byte of the window that the processor reads, its lowest bit in the packet; port_at, length_at: their
    (lowest bit, bits) in the packet. sent: for each byte of the header that leaves, its lowest bit in the verdict.
    is_sent, is_left, out_port, length, count (bytes of the header): Verilog expressions of the verdict `v`.
    verdict_slices: (lowest bit, bits) of its reported parts beside the tag, lowest first. packets: headers in progress
    at most; body: words in the body queue.
    """

    words: int
    tag: int
    begins: int
    results: int
    port: int
    frame: Mapping[int, int]
    port_at: tuple[int, int]
    length_at: tuple[int, int]
    sent: Sequence[int]
    is_sent: str
    is_left: str
    out_port: str
    length: str
    count: str
    verdict_slices: Sequence[tuple[int, int]]
    packets: int
    body: int

    @property
    def into(self) -> int:
        """The bits of an input word with its port."""
        return self.port + WORD

    @property
    def out(self) -> int:
        """The bits of an output word with its port and the mark for the control processor."""
        return 1 + self.port + WORD

    @property
    def verdict(self) -> int:
        """The bits of the verdict that is reported for each packet."""
        return self.tag + sum(bits for _, bits in self.verdict_slices)

    def streams(self, k: str) -> dict[str, tuple[bool, int]]:
        """Return the streams of lane k: name -> (whether it is an input, its bits)."""
        return {f"in{k}": (True, self.into), f"out{k}": (False, self.out), f"told{k}": (False, self.verdict)}


def place(byte: int) -> int:
    """Return the lowest bit of a byte in a vector of words; the first byte of each word is its highest."""
    return byte // BYTES * 128 + 120 - 8 * (byte % BYTES)


def bodies_text(framing: Framing, seed: int) -> str:
    """Return the modules for one lane: `framed` and its parts; they use `split` and the queue."""
    return "\n".join([WAY_IN, REJOIN, _framed(framing, seed)])


def stream_heads(name: str, into: bool, bits: int) -> list[str]:
    """Return the port declarations of a stream."""
    forward, backward = ("input", "output") if into else ("output", "input")
    return [f"  {forward} {name}_valid", f"  {backward} {name}_ready", f"  {forward} [{bits - 1}:0] {name}_data"]


def _framed(f: Framing, seed: int) -> str:
    words = max(f.words, -(-len(f.sent) // BYTES))
    window, count_bits, head_bits = f.words * 128, at(words + 1), f.port + LENGTH + f.words * 128
    body_count_bits, place_bits = at(f.body), at(f.packets)
    heads = ["  input clk", "  input rst"]
    for name, (into, bits) in f.streams("").items():
        heads += stream_heads(name, into, bits)
    heads += stream_heads("give", False, f.tag + f.begins) + stream_heads("done", True, f.tag + f.results)
    lines = [
        f"  wire h_valid, h_ready, k_ready, k_valid;\n  wire [{head_bits - 1}:0] h;",
        "  wire b_valid, b_ready, c_valid, c_ready;",
        f"  wire [{WORD - 1}:0] b_data, c_data;", "  wire q_valid, q_ready, r_valid, r_ready;",
        f"  wire [{WORD - 1}:0] q_data, r_data;", "  wire goes;", f"  reg [{f.tag - 1}:0] number;",
        f"  way_in #(.HEAD({f.words}), .AT({at(f.words + 1)}), .PORT({f.port})) way (.clk(clk), .rst(rst), "
        ".in_valid(in_valid), .in_ready(in_ready), .in_data(in_data), .head_valid(h_valid), .head_ready(h_ready), "
        ".head_data(h), .body_valid(b_valid), .body_ready(b_ready), .body_data(b_data));",
        valve("body_in", seed, WORD, ("b_valid", "b_ready", "b_data"), ("c_valid", "c_ready", "c_data")),
        f"  queue #(.PLACES({f.body}), .AT({body_count_bits}), .WIDTH({WORD})) bodies (.clk(clk), .rst(rst), "
        ".in_valid(c_valid), .in_ready(c_ready), .in_data(c_data), .out_valid(q_valid), .out_ready(q_ready), "
        ".out_data(q_data));",
        valve("body_out", seed + 1, WORD, ("q_valid", "q_ready", "q_data"), ("r_valid", "r_ready", "r_data")),
        f"  wire [{LENGTH - 1}:0] length = h[{window + LENGTH - 1}:{window}];",
        f"  wire [{f.begins - 1}:0] packet;",
        f"  assign packet[{sum(f.port_at) - 1}:{f.port_at[0]}] = "
        f"h[{window + LENGTH + f.port_at[1] - 1}:{window + LENGTH}];",
        f"  assign packet[{sum(f.length_at) - 1}:{f.length_at[0]}] = length;",
        *(f"  assign packet[{low + 7}:{low}] = length > {k} ? h[{place(k) + 7}:{place(k)}] : 8'd0;"
          for k, low in f.frame.items()),
        "  wire g_valid, g_ready;", "  assign g_valid = h_valid & k_ready;", "  assign h_ready = g_ready & k_ready;",
        valve("give", seed + 2, f.tag + f.begins, ("g_valid", "g_ready", "{number, packet}"),
              ("give_valid", "give_ready", "give_data")),
        f"  wire [{LENGTH + window - 1}:0] kept;",
        f"  queue #(.PLACES({f.packets}), .AT({place_bits}), .WIDTH({LENGTH + window})) as_they_came (.clk(clk), "
        f".rst(rst), .in_valid(h_valid & g_ready), .in_ready(k_ready), .in_data(h[{LENGTH + window - 1}:0]), "
        ".out_valid(k_valid), .out_ready(goes), .out_data(kept));",
        "  always @(posedge clk) if (rst) number <= 0; else if (h_valid & h_ready) number <= number + 1'b1;",
        "  wire d_valid, d_ready, j_ready, t_ready;", f"  wire [{f.tag + f.results - 1}:0] d;",
        valve("done", seed + 3, f.tag + f.results, ("done_valid", "done_ready", "done_data"),
              ("d_valid", "d_ready", "d")),
        f"  wire [{f.results - 1}:0] v = d[{f.results - 1}:0];",
        "  wire starts = d_valid & k_valid & t_ready;", "  assign goes = starts & j_ready;",
        "  assign d_ready = k_valid & t_ready & j_ready;",
        f"  wire is_sent = {f.is_sent};", f"  wire is_left = {f.is_left} & ~is_sent;",
        f"  wire [{words * 128 - 1}:0] made;",
        *_header_assigns(f.sent, words),
        f"  wire [{LENGTH - 1}:0] came = kept[{LENGTH + window - 1}:{window}];",
        f"  rejoin #(.HEAD({words}), .AT({count_bits}), .SIDE({1 + f.port})) joins (.clk(clk), .rst(rst), "
        ".head_valid(starts), .head_ready(j_ready), .gone(~is_sent & ~is_left), "
        f".rest(came > {f.words * BYTES}), .side({{is_left, {f.out_port}}}), .length(is_left ? came : {f.length}), "
        f".count(is_left ? {count_bits + 5}'d{f.words * BYTES} : {f.count}), "
        f".head_data(is_left ? {_wide('kept', window, words * 128)} : made), .body_valid(r_valid), "
        ".body_ready(r_ready), .body_data(r_data), .out_valid(out_valid), .out_ready(out_ready), .out_data(out_data));",
        f"  queue #(.PLACES(4), .AT(2), .WIDTH({f.verdict})) tells (.clk(clk), .rst(rst), .in_valid(goes), "
        f".in_ready(t_ready), .in_data({{d[{f.tag + f.results - 1}:{f.results}], {_slices(f.verdict_slices)}}}), "
        ".out_valid(told_valid), .out_ready(told_ready), .out_data(told_data));",
    ]  # fmt: skip
    return "\n".join([f"module {FRAMED} (\n" + ",\n".join(heads) + "\n);", *lines, "endmodule", ""])


def _header_assigns(sent: Sequence[int], words: int) -> list[str]:
    """Return the assignments of the header that leaves, byte by byte, followed by zeros."""
    assigns = [f"  assign made[{place(k) + 7}:{place(k)}] = v[{low + 7}:{low}];" for k, low in enumerate(sent)]
    rest = range(len(sent), words * BYTES)
    return [*assigns, *(f"  assign made[{place(k) + 7}:{place(k)}] = 8'd0;" for k in rest)]


def _wide(name: str, bits: int, wanted: int) -> str:
    return f"{{{wanted - bits}'d0, {name}[{bits - 1}:0]}}" if wanted > bits else f"{name}[{bits - 1}:0]"


def _slices(ranges: Sequence[tuple[int, int]]) -> str:
    return ", ".join(f"v[{low + bits - 1}:{low}]" for low, bits in reversed(ranges))


def frames_text(framing: Framing, inner: str, lanes: Sequence[str], others: Sequence[str]) -> str:
    """Return the module `frames`, which encloses a module whose lanes carry packets.

    others: the declarations of its other ports, which are passed through.
    """
    heads, lines, links = ["  input clk", "  input rst"], list[str](), [".clk(clk)", ".rst(rst)"]
    for k in lanes:
        streams = framing.streams(k)
        for name, (into, packet_bits) in streams.items():
            heads += stream_heads(name, into, packet_bits)
        widths: Mapping[str, tuple[int, int]] = {
            "give": (framing.tag, framing.begins),
            "done": (framing.tag, framing.results),
        }
        connections = [
            f".{name}_{end}({name}{k}_{end})" for name in ("in", "out", "told") for end in ("valid", "ready", "data")
        ]
        for name, outer in (("give", f"in{k}"), ("done", f"out{k}")):
            tag, packet_bits = widths[name]
            lines += [
                f"  wire {name}{k}_valid, {name}{k}_ready;",
                f"  wire [{tag + packet_bits - 1}:0] {name}{k}_data;",
            ]
            connections += [f".{name}_{end}({name}{k}_{end})" for end in ("valid", "ready", "data")]
            links += [f".{outer}_valid({name}{k}_valid)", f".{outer}_ready({name}{k}_ready)"]
            links += [
                f".{outer}_tag({name}{k}_data[{tag + packet_bits - 1}:{packet_bits}])",
                f".{outer}_packet({name}{k}_data[{packet_bits - 1}:0])",
            ]
        lines.append(f"  {FRAMED} framed{k} (.clk(clk), .rst(rst), {', '.join(connections)});")
    names = [head.split()[-1] for head in others]
    links += [f".{name}({name})" for name in names]
    lines.append(f"  {inner} inner ({', '.join(links)});")
    return "\n".join([f"module {FRAMES} (\n" + ",\n".join([*heads, *others]) + "\n);", *lines, "endmodule", ""])
