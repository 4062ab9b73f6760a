"""Frames as streams of words, as Verilog 2005: splitting and recombining header and body; checksums of passing words.

A word has 16 bytes, the first one highest. The last word of a frame may have fewer; each word is {last, bytes, word}.

split       sends the first HEAD words of a frame as one record {words, whole, bytes, data}, the rest as words; whole:
            there is no rest, and the last word of the record has `bytes` bytes
together    takes records {drop, words, whole, bytes, data} in the order of their frames, and sends the words of each,
            then those of the body; a dropped frame sends no words
integrity   the Internet checksum of each frame (RFC 1071); 0 for a header that contains the correct checksum
sums        the same behind a port: a call of BYTES bytes, the first one lowest, becomes words; answers are in order
"""

from __future__ import annotations

SPLIT = """module split #(parameter HEAD = 4, parameter AT = 3) (
  input clk, input rst, input in_valid, output in_ready, input [133:0] in_data,
  output head_valid, input head_ready, output [AT+5+HEAD*128:0] head_data,
  output body_valid, input body_ready, output [133:0] body_data
);
  reg full, behind, whole;
  reg [AT-1:0] words;
  reg [4:0] bytes;
  reg [HEAD*128-1:0] data;
  wire last = in_data[133];
  wire taken = in_valid & in_ready;
  assign head_valid = full;
  assign head_data = {words, whole, bytes, data};
  assign body_valid = in_valid & behind;
  assign body_data = in_data;
  assign in_ready = behind ? body_ready : ~full | head_ready;
  always @(posedge clk)
    if (rst) begin
      full <= 1'b0; behind <= 1'b0; words <= 0; whole <= 1'b0; bytes <= 0;
    end else begin
      if (full & head_ready) begin
        full <= 1'b0; words <= 0;
      end
      if (taken & behind) behind <= ~last;
      if (taken & ~behind) begin
        data[((full ? 0 : words))*128 +: 128] <= in_data[127:0];
        words <= (full ? 0 : words) + 1'b1;
        whole <= last; bytes <= in_data[132:128];
        if (last | ((full ? 0 : words) == HEAD - 1)) begin
          full <= 1'b1; behind <= ~last;
        end
      end
    end
endmodule
"""

TOGETHER = """module together #(parameter HEAD = 4, parameter AT = 3) (
  input clk, input rst, input head_valid, output head_ready, input [AT+6+HEAD*128:0] head_data,
  input body_valid, output body_ready, input [133:0] body_data,
  output out_valid, input out_ready, output [133:0] out_data
);
  wire drop = head_data[AT+6+HEAD*128];
  wire [AT-1:0] words = head_data[HEAD*128+6 +: AT];
  wire whole = head_data[HEAD*128+5];
  wire [4:0] bytes = head_data[HEAD*128 +: 5];
  reg [AT-1:0] sent;
  reg behind, dropped;
  wire ends = sent + 1'b1 == words;
  wire [127:0] word = head_data[sent*128 +: 128];
  assign out_valid = behind ? body_valid & ~dropped : head_valid & ~drop;
  assign out_data = behind ? body_data : {ends & whole, (ends & whole) ? bytes : 5'd16, word};
  assign head_ready = ~behind & (drop | (ends & out_ready));
  assign body_ready = behind & (dropped | out_ready);
  always @(posedge clk)
    if (rst) begin
      sent <= 0; behind <= 1'b0; dropped <= 1'b0;
    end else if (behind) begin
      if (body_valid & body_ready & body_data[133]) behind <= 1'b0;
    end else if (head_valid & head_ready) begin
      sent <= 0; behind <= ~whole; dropped <= drop;
    end else if (out_valid & out_ready) sent <= sent + 1'b1;
endmodule
"""

INTEGRITY = """module integrity (
  input clk, input rst, input in_valid, output in_ready, input [133:0] in_data,
  output reg out_valid, input out_ready, output reg [15:0] out_data
);
  reg [15:0] sum;
  reg [19:0] total;
  reg [127:0] kept;
  integer k;
  wire [16:0] folded = total[15:0] + total[19:16];
  wire [15:0] next = folded[15:0] + folded[16];
  assign in_ready = ~out_valid | out_ready;
  always @* begin
    kept = in_data[127:0];
    for (k = 0; k < 16; k = k + 1) if (k >= in_data[132:128]) kept[127-8*k -: 8] = 8'd0;
    total = sum;
    for (k = 0; k < 8; k = k + 1) total = total + kept[127-16*k -: 16];
  end
  always @(posedge clk)
    if (rst) begin
      sum <= 0; out_valid <= 1'b0;
    end else begin
      if (out_ready) out_valid <= 1'b0;
      if (in_valid & in_ready) begin
        sum <= in_data[133] ? 16'd0 : next;
        if (in_data[133]) begin
          out_valid <= 1'b1; out_data <= ~next;
        end
      end
    end
endmodule
"""


SUMS = """module sums #(parameter BYTES = 20, parameter WORDS = 2, parameter AT = 1, parameter WHO = 2) (
  input clk, input rst, input in_valid, output in_ready, input [WHO+8*BYTES-1:0] in_data,
  output out_valid, input out_ready, output [WHO+15:0] out_data
);
  reg busy;
  reg [AT-1:0] word;
  reg [WHO-1:0] who, told;
  reg [WORDS*128-1:0] data;
  wire room;
  wire [15:0] sum;
  wire last = word == WORDS - 1;
  wire [4:0] bytes = last ? BYTES - 16 * (WORDS - 1) : 16;
  integer k;
  assign in_ready = ~busy | (last & room);
  assign out_data = {told, sum};
  integrity of_words (.clk(clk), .rst(rst), .in_valid(busy), .in_ready(room),
    .in_data({last, bytes, data[word*128 +: 128]}), .out_valid(out_valid), .out_ready(out_ready), .out_data(sum));
  always @(posedge clk)
    if (rst) begin
      busy <= 1'b0; word <= 0;
    end else begin
      if (busy & room) begin
        word <= last ? 0 : word + 1'b1;
        if (last) begin
          busy <= 1'b0; told <= who;
        end
      end
      if (in_valid & in_ready) begin
        busy <= 1'b1; who <= in_data[WHO+8*BYTES-1:8*BYTES];
        for (k = 0; k < BYTES; k = k + 1) data[(k/16)*128 + 127 - 8*(k%16) -: 8] <= in_data[8*k +: 8];
      end
    end
endmodule
"""


def integrity_text() -> str:
    """Return the modules of an integrity unit behind a port."""
    return "\n".join([INTEGRITY, SUMS])


def frames_text() -> str:
    """Return the modules that process frames."""
    return "\n".join([SPLIT, TOGETHER, INTEGRITY])
