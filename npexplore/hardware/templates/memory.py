"""A memory channel with its own clock, as Verilog 2005: clock crossings, and ports that share the memory's pins.

    port (core clock) -> crossing -> arbiter (memory clock) -> pins ... DELAY clocks ... -> queue -> crossing -> port

The memory takes a read on every clock and returns its data exactly DELAY clocks later; it cannot be stalled. A port
therefore has at most as many reads in progress as its queue has places. With one port per level of a trie and a memory
clock of three times the core's clock, three requests per core cycle go out, as in Gorilla's rate adaption (Sec. 4.2).
`qdr` only reads; writing tables is not included.

A crossing is a queue between two clocks: its pointers are Gray coded, so that one bit changes at a time, and pass two
flip-flops. The test bench replaces `synchroniser` by a module of the same name that delivers each recently changed bit
at random with its new or its old value.
"""

from __future__ import annotations

SYNCHRONISER_PORTS = """module synchroniser #(parameter WIDTH = 1) (
  input in_clk, input out_clk, input out_rst, input [WIDTH-1:0] in_data, output reg [WIDTH-1:0] out_data
);
  reg [WIDTH-1:0] first;
"""

SYNCHRONISER = f"""{SYNCHRONISER_PORTS}  always @(posedge out_clk)
    if (out_rst) begin
      first <= 0; out_data <= 0;
    end else begin
      first <= in_data; out_data <= first;
    end
endmodule
"""

WAVERING_SYNCHRONISER = f"""{SYNCHRONISER_PORTS}  reg [WIDTH-1:0] older, dice;
  time changed, sampled;
  initial begin older = 0; changed = 0; sampled = 0; end
  always @(posedge in_clk) begin
    older <= in_data; changed = $time;
  end
  always @(posedge out_clk) begin
    dice = changed > sampled ? {{(WIDTH + 31) / 32{{$random}}}} : ~0;
    sampled = $time;
    if (out_rst) begin
      first <= 0; out_data <= 0;
    end else begin
      first <= (in_data & dice) | (older & ~dice); out_data <= first;
    end
  end
endmodule
"""

CROSSING = """module crossing #(parameter AT = 2, parameter WIDTH = 1) (
  input in_clk, input in_rst, input in_valid, output in_ready, input [WIDTH-1:0] in_data,
  input out_clk, input out_rst, output out_valid, input out_ready, output [WIDTH-1:0] out_data
);
  STORE reg [WIDTH-1:0] places [0:(1<<AT)-1];
  reg [AT:0] written, told, taken, freed;
  wire [AT:0] seen, back;
  wire [AT:0] next_written = written + 1'b1;
  wire [AT:0] next_taken = taken + 1'b1;
  synchroniser #(.WIDTH(AT + 1)) there (.in_clk(in_clk), .out_clk(out_clk), .out_rst(out_rst), .in_data(told),
    .out_data(seen));
  synchroniser #(.WIDTH(AT + 1)) again (.in_clk(out_clk), .out_clk(in_clk), .out_rst(in_rst), .in_data(freed),
    .out_data(back));
  assign in_ready = told != (back ^ (2'd3 << AT - 1));
  assign out_valid = freed != seen;
  assign out_data = places[taken[AT-1:0]];
  always @(posedge in_clk) begin
    if (in_valid & in_ready) places[written[AT-1:0]] <= in_data;
    if (in_rst) begin
      written <= 0; told <= 0;
    end else if (in_valid & in_ready) begin
      written <= next_written; told <= next_written ^ (next_written >> 1);
    end
  end
  always @(posedge out_clk)
    if (out_rst) begin
      taken <= 0; freed <= 0;
    end else if (out_valid & out_ready) begin
      taken <= next_taken; freed <= next_taken ^ (next_taken >> 1);
    end
endmodule
"""

QDR = """module qdr #(parameter N = 2, parameter AT = 1, parameter WHO = 1, parameter ADDRESS = 8, parameter DATA = 8,
  parameter DELAY = 5, parameter QUEUE = 3) (
  input clk, input rst, input mem_clk, input mem_rst,
  input [N-1:0] in_valid, output [N-1:0] in_ready, input [N*(WHO+ADDRESS)-1:0] in_data,
  output [N-1:0] out_valid, input [N-1:0] out_ready, output [N*(WHO+DATA)-1:0] out_data,
  output read, output [ADDRESS-1:0] read_at, input [DATA-1:0] read_data
);
  wire [N-1:0] asks, free, fits, taken;
  wire [N*(WHO+ADDRESS)-1:0] asked;
  wire given;
  wire [AT+WHO+ADDRESS-1:0] chosen;
  reg [DELAY-1:0] under_way;
  reg [AT+WHO-1:0] whose [0:DELAY-1];
  integer d;
  arbiter #(.N(N), .AT(AT), .WIDTH(WHO + ADDRESS), .FAIR(1)) first (.clk(mem_clk), .rst(mem_rst),
    .in_valid(asks & free), .in_ready(taken), .in_data(asked), .out_valid(given), .out_ready(1'b1),
    .out_data(chosen));
  assign read = given;
  assign read_at = chosen[ADDRESS-1:0];
  always @(posedge mem_clk) begin
    under_way <= mem_rst ? 0 : {under_way, given};
    whose[0] <= chosen[AT+WHO+ADDRESS-1:ADDRESS];
    for (d = 1; d < DELAY; d = d + 1) whose[d] <= whose[d-1];
  end
  wire found = under_way[DELAY-1];
  wire [AT+WHO-1:0] owner = whose[DELAY-1];
  genvar g;
  generate
    for (g = 0; g < N; g = g + 1) begin : port
      reg [QUEUE:0] owed;
      wire goes = asks[g] & free[g] & taken[g];
      wire kept, leaves, there;
      wire [WHO+DATA-1:0] word;
      crossing #(.AT(2), .WIDTH(WHO + ADDRESS)) ask (.in_clk(clk), .in_rst(rst), .in_valid(in_valid[g]),
        .in_ready(in_ready[g]), .in_data(in_data[g*(WHO+ADDRESS) +: WHO+ADDRESS]), .out_clk(mem_clk),
        .out_rst(mem_rst), .out_valid(asks[g]), .out_ready(free[g] & taken[g]),
        .out_data(asked[g*(WHO+ADDRESS) +: WHO+ADDRESS]));
      assign free[g] = owed != (1 << QUEUE);
      queue #(.PLACES(1 << QUEUE), .AT(QUEUE), .WIDTH(WHO + DATA)) waits (.clk(mem_clk), .rst(mem_rst),
        .in_valid(found & (owner[AT+WHO-1:WHO] == g)), .in_ready(kept), .in_data({owner[WHO-1:0], read_data}),
        .out_valid(there), .out_ready(leaves), .out_data(word));
      crossing #(.AT(2), .WIDTH(WHO + DATA)) answer (.in_clk(mem_clk), .in_rst(mem_rst), .in_valid(there),
        .in_ready(leaves), .in_data(word), .out_clk(clk), .out_rst(rst), .out_valid(out_valid[g]),
        .out_ready(out_ready[g]), .out_data(out_data[g*(WHO+DATA) +: WHO+DATA]));
      always @(posedge mem_clk)
        if (mem_rst) owed <= 0;
        else owed <= owed + goes - (there & leaves);
    end
  endgenerate
endmodule
"""


def memory_text(made_of: str, synchroniser: bool = True) -> str:
    """Return the modules of crossings and a channel, which use the parts of `streams_text`.

    made_of: the attribute of memories (`engine.store`); synchroniser: include the exact one.
    """
    parts = [part.replace("STORE", made_of) for part in (CROSSING, QDR)]
    return "\n".join([*([SYNCHRONISER] if synchroniser else []), *parts])


def chip_text(name: str, address: int, data: int, delay: int, file: str, rows: int) -> str:
    """Return a test bench's model of a memory chip with the words of a file (0 for missing words).

    delay: clocks from a read to its data.
    """
    return f"""module {name} (input clk, input read, input [{address - 1}:0] read_at, output [{data - 1}:0] read_data);
  reg [{data - 1}:0] words [0:{rows - 1}];
  reg [{data - 1}:0] found [0:{delay - 1}];
  integer d;
  initial begin
    for (d = 0; d < {rows}; d = d + 1) words[d] = 0;
    $readmemh("{file}", words);
  end
  always @(posedge clk) begin
    found[0] <= read ? words[read_at] : {data}'dx;
    for (d = 1; d < {delay}; d = d + 1) found[d] <= found[d-1];
  end
  assign read_data = found[{delay - 1}];
endmodule
"""
