"""Accelerators with tables, as Verilog 2005: a hashed label table, flow counters (Gorilla, Secs. 4.2, 4.3).

label_table   several bins per set; a multiplicative hash selects the set. A miss asks the table in memory, and a label
              found there replaces the set's bins in turn. One call at a time; answers in order.
counters      three counters of 72 bits per flow, in a memory with a read and a write per clock. A call makes three
              reads, then three writes; calls of a flow that is being updated wait. Answers in order, after the writes.

Calls carry their caller's number; `golden/mpls/label_cache.py` and `golden/flow_counters.py` are the reference models.
"""

from __future__ import annotations

from npexplore.golden.flow_counters import COUNTER_BITS
from npexplore.golden.mpls.label_cache import MULTIPLIER

LABEL_TABLE = f"""module label_table #(parameter AT = 6, parameter BIN = 2, parameter NUMBER = 8, parameter WHO = 2) (
  input clk, input rst, input in_valid, output in_ready, input [WHO+19:0] in_data,
  output out_valid, input out_ready, output [WHO+NUMBER:0] out_data,
  output ask_valid, input ask_ready, output [19:0] ask_data,
  input answer_valid, output answer_ready, input [NUMBER:0] answer_data
);
  localparam FREE = 0, LOOKS = 1, ASKS = 2, WAITS = 3, TELLS = 4;
  STORE reg [19+NUMBER:0] slots [0:(1<<(AT+BIN))-1];
  reg [(1<<(AT+BIN))-1:0] here;
  reg [BIN-1:0] turns [0:(1<<AT)-1];
  reg [2:0] state;
  reg [WHO-1:0] who;
  reg [19:0] label;
  reg [NUMBER:0] told;
  reg [19+NUMBER:0] one;
  reg hit;
  reg [NUMBER-1:0] found;
  wire [31:0] mixed = label * 32'd{MULTIPLIER};
  wire [AT-1:0] set = mixed[31 -: AT];
  wire [AT+BIN-1:0] victim = {{set, turns[set]}};
  reg [BIN:0] b;
  integer s;
  assign in_ready = state == FREE;
  assign ask_valid = state == ASKS;
  assign ask_data = label;
  assign answer_ready = state == WAITS;
  assign out_valid = state == TELLS;
  assign out_data = {{who, told}};
  always @(posedge clk)
    if (rst) begin
      state <= FREE; here <= 0;
      for (s = 0; s < (1 << AT); s = s + 1) turns[s] <= 0;
    end else case (state)
      FREE: if (in_valid) begin
        {{who, label}} <= in_data; state <= LOOKS;
      end
      LOOKS: begin
        hit = 1'b0; found = 0;
        for (b = 0; b < (1 << BIN); b = b + 1) begin
          one = slots[{{set, b[BIN-1:0]}}];
          if (here[{{set, b[BIN-1:0]}}] & (one[19+NUMBER:NUMBER] == label)) begin
            hit = 1'b1; found = one[NUMBER-1:0];
          end
        end
        told <= {{found, 1'b1}};
        state <= hit ? TELLS : ASKS;
      end
      ASKS: if (ask_ready) state <= WAITS;
      WAITS: if (answer_valid) begin
        told <= answer_data; state <= TELLS;
        if (answer_data[0]) begin
          slots[victim] <= {{label, answer_data[NUMBER:1]}};
          here[victim] <= 1'b1;
          turns[set] <= turns[set] + 1'b1;
        end
      end
      default: if (out_ready) state <= FREE;
    endcase
endmodule
"""

COUNTERS = f"""module counters #(parameter FLOW = 8, parameter MORE = 16, parameter WHO = 2, parameter DELAY = 4) (
  input clk, input rst, input in_valid, output in_ready, input [WHO+2*MORE+FLOW-1:0] in_data,
  output out_valid, input out_ready, output [WHO-1:0] out_data,
  output read, output [FLOW+1:0] read_at, input [{COUNTER_BITS - 1}:0] read_data,
  output reg write, output reg [FLOW+1:0] write_at, output reg [{COUNTER_BITS - 1}:0] write_data
);
  localparam SPAN = DELAY + 5;
  reg [1:0] part;
  reg [WHO+2*MORE+FLOW-1:0] call;
  reg [SPAN-1:0] busy;
  reg [FLOW-1:0] flows [0:SPAN-1];
  reg [DELAY-1:0] going, ends;
  reg [FLOW+1:0] where [0:DELAY-1];
  reg [MORE-1:0] adds [0:DELAY-1];
  reg [WHO-1:0] whose [0:DELAY-1];
  reg [WHO-1:0] last_who;
  reg last, meets;
  reg [4:0] owed;
  integer k, d;
  wire [FLOW-1:0] asked = in_data[FLOW-1:0];
  wire begins = in_valid & in_ready;
  wire room;
  assign in_ready = (part == 0 || part == 3) & ~meets & (owed != 5'd16);
  assign read = part != 0;
  wire [1:0] number = part - 2'd1;
  assign read_at = {{call[FLOW-1:0], number}};
  always @* begin
    meets = 1'b0;
    for (k = 0; k < SPAN; k = k + 1) if (busy[k] && flows[k] == asked) meets = 1'b1;
  end
  queue #(.PLACES(16), .AT(4), .WIDTH(WHO)) done (.clk(clk), .rst(rst), .in_valid(last), .in_ready(room),
    .in_data(last_who), .out_valid(out_valid), .out_ready(out_ready), .out_data(out_data));
  always @(posedge clk) begin
    flows[0] <= asked; where[0] <= read_at; whose[0] <= call[WHO+2*MORE+FLOW-1:2*MORE+FLOW];
    adds[0] <= number == 0 ? 1 : number == 1 ? call[FLOW +: MORE] : call[FLOW+MORE +: MORE];
    for (d = 1; d < SPAN; d = d + 1) flows[d] <= flows[d-1];
    for (d = 1; d < DELAY; d = d + 1) begin
      where[d] <= where[d-1]; adds[d] <= adds[d-1]; whose[d] <= whose[d-1];
    end
    write_at <= where[DELAY-1];
    write_data <= read_data + adds[DELAY-1];
    last_who <= whose[DELAY-1];
    if (begins) call <= in_data;
    if (rst) begin
      part <= 0; busy <= 0; going <= 0; ends <= 0; write <= 1'b0; last <= 1'b0; owed <= 0;
    end else begin
      part <= begins ? 2'd1 : (part == 0 || part == 3) ? 2'd0 : part + 2'd1;
      busy <= {{busy, begins}};
      going <= {{going, read}};
      ends <= {{ends, part == 2'd3}};
      write <= going[DELAY-1];
      last <= ends[DELAY-1];
      owed <= owed + begins - (out_valid & out_ready);
    end
  end
endmodule
"""


def tables_text(made_of: str) -> str:
    """Return both accelerators, which use the queue of `streams_text`. made_of: the attribute of memories."""
    return "\n".join(part.replace("STORE", made_of) for part in (LABEL_TABLE, COUNTERS))
