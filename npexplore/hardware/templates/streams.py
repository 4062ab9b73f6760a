"""Basic parts of the templates, as Verilog 2005: valve, queue, balancer, arbiter, reorder queue.

Streams are ready/valid: data is taken on a rising edge of `clk` where both are 1, and valid data stays until then. N
streams are N bits of valid and of ready, and N words in one vector, the first one lowest. `rst` is synchronous.

A valve passes its stream unchanged. It marks a place where a handshake may be stalled: the test bench replaces valves
by modules of the same name that stall at random.
"""

from __future__ import annotations

VALVE_PORTS = """module valve #(parameter WIDTH = 1, parameter SEED = 1) (
  input clk, input rst, input in_valid, output in_ready, input [WIDTH-1:0] in_data,
  output out_valid, input out_ready, output [WIDTH-1:0] out_data
);
"""

VALVE = f"""{VALVE_PORTS}  assign out_valid = in_valid;
  assign in_ready = out_ready;
  assign out_data = in_data;
endmodule
"""

STALLING_VALVE = f"""{VALVE_PORTS}  reg [31:0] dice;
  reg stall;
  integer stalls;
  wire [31:0] mixed = dice ^ (dice << 13);
  wire [31:0] stirred = mixed ^ (mixed >> 17);
  initial begin
    if (!$value$plusargs("stalls=%d", stalls)) stalls = 0;
    dice = 32'd2654435761 * SEED + 32'd97;
    stall = 1'b0;
  end
  always @(posedge clk) if (!rst) begin
    dice <= stirred ^ (stirred << 5) ^ {{31'd0, in_valid & in_ready & (^in_data === 1'b1)}};
    stall <= ({{28'd0, dice[7:4]}} < stalls) & ~(out_valid & ~out_ready);
  end
  assign out_valid = in_valid & ~stall;
  assign in_ready = out_ready & ~stall;
  assign out_data = in_data;
endmodule
"""

QUEUE = """module queue #(parameter PLACES = 16, parameter AT = 4, parameter WIDTH = 1) (
  input clk, input rst, input in_valid, output in_ready, input [WIDTH-1:0] in_data,
  output out_valid, input out_ready, output [WIDTH-1:0] out_data
);
  STORE reg [WIDTH-1:0] places [0:PLACES-1];
  reg [AT-1:0] head, tail;
  reg [AT:0] held;
  assign in_ready = held != PLACES;
  assign out_valid = held != 0;
  assign out_data = places[head];
  always @(posedge clk) begin
    if (in_valid & in_ready) places[tail] <= in_data;
    if (rst) begin
      head <= 0; tail <= 0; held <= 0;
    end else begin
      if (in_valid & in_ready) tail <= (tail == PLACES - 1) ? 0 : tail + 1'b1;
      if (out_valid & out_ready) head <= (head == PLACES - 1) ? 0 : head + 1'b1;
      held <= held + (in_valid & in_ready) - (out_valid & out_ready);
    end
  end
endmodule
"""

BALANCER = """module balancer #(parameter N = 2, parameter AT = 1, parameter STRICT = 0, parameter FIRST = 0) (
  input clk, input rst, input in_valid, output in_ready, output reg [N-1:0] out_valid, input [N-1:0] out_ready
);
  reg [AT-1:0] turn, chosen;
  reg found;
  integer k, index;
  always @* begin
    chosen = turn; found = out_ready[turn];
    if (!STRICT)
      for (k = N - 1; k >= 0; k = k - 1) begin
        index = {{(32-AT){1'b0}}, turn} + k;
        if (index >= N) index = index - N;
        if (out_ready[index]) begin chosen = index[AT-1:0]; found = 1'b1; end
      end
    out_valid = {N{1'b0}};
    out_valid[chosen] = in_valid & (found | (STRICT != 0));
  end
  assign in_ready = found;
  always @(posedge clk)
    if (rst) turn <= FIRST;
    else if (in_valid & found) turn <= (chosen == N - 1) ? 0 : chosen + 1'b1;
endmodule
"""

ARBITER = """module arbiter #(parameter N = 2, parameter AT = 1, parameter WIDTH = 1, parameter FAIR = 1) (
  input clk, input rst, input [N-1:0] in_valid, output reg [N-1:0] in_ready, input [N*WIDTH-1:0] in_data,
  output reg out_valid, input out_ready, output reg [AT+WIDTH-1:0] out_data
);
  reg [AT-1:0] turn, chosen;
  reg found;
  integer k, index;
  wire room = ~out_valid | out_ready;
  wire [AT-1:0] first = (FAIR != 0) ? turn : 0;
  always @* begin
    chosen = first; found = 1'b0;
    for (k = N - 1; k >= 0; k = k - 1) begin
      index = {{(32-AT){1'b0}}, first} + k;
      if (index >= N) index = index - N;
      if (in_valid[index]) begin chosen = index[AT-1:0]; found = 1'b1; end
    end
    in_ready = {N{1'b0}};
    in_ready[chosen] = found & room;
  end
  always @(posedge clk)
    if (rst) begin
      turn <= 0; out_valid <= 1'b0;
    end else if (room) begin
      out_valid <= found;
      if (found) begin
        out_data <= {chosen, in_data[chosen*WIDTH +: WIDTH]};
        turn <= (chosen == N - 1) ? 0 : chosen + 1'b1;
      end
    end
endmodule
"""

REORDER = """module reorder #(parameter AT = 6, parameter WIDTH = 1) (
  input clk, input rst, input enter_valid, output enter_ready, output [AT-1:0] ticket,
  input in_valid, output in_ready, input [AT-1:0] in_ticket, input [WIDTH-1:0] in_data,
  output out_valid, input out_ready, output [WIDTH-1:0] out_data
);
  STORE reg [WIDTH-1:0] places [0:(1<<AT)-1];
  reg [(1<<AT)-1:0] here;
  reg [AT-1:0] next, head;
  reg [AT:0] held;
  assign enter_ready = ~held[AT];
  assign ticket = next;
  assign in_ready = 1'b1;
  assign out_valid = here[head];
  assign out_data = places[head];
  always @(posedge clk) begin
    if (in_valid) places[in_ticket] <= in_data;
    if (rst) begin
      next <= 0; head <= 0; held <= 0; here <= 0;
    end else begin
      if (enter_valid & enter_ready) next <= next + 1'b1;
      if (in_valid) here[in_ticket] <= 1'b1;
      if (out_valid & out_ready) begin
        here[head] <= 1'b0;
        head <= head + 1'b1;
      end
      held <= held + (enter_valid & enter_ready) - (out_valid & out_ready);
    end
  end
endmodule
"""


def streams_text(made_of: str, valve: bool = True) -> str:
    """Return the parts' text. made_of: the attribute of memories (`engine.store`); valve: include the plain valve."""
    parts = [part.replace("STORE", made_of) for part in (QUEUE, BALANCER, ARBITER, REORDER)]
    return "\n".join([*([VALVE] if valve else []), *parts])
