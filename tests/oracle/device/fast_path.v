// The fast path of a router with two ports: takes a frame octet by octet, checks it, rewrites it, sends it on.
// What it does not know (options, no route here, too long, the last hop, ...) it hands to software: `punt`.
// Routes: 20.0.0.0/8 by port 1, 21.0.0.0/8 by port 0. FAULT 1: no end-around carry in the checksum (RFC 1624 eqn. 3).
module fast_path #(parameter FAULT = 0, parameter MTU0 = 1500, parameter MTU1 = 576) (
    input  wire       clk, rst,
    input  wire       in_valid, in_last, in_port,
    input  wire [7:0] in_data,
    output reg        out_valid, out_last, out_port, punt,
    output reg  [7:0] out_data
);
    localparam RECEIVE = 0, CHECK = 1, SEND = 2;
    reg [7:0]  frame [0:2047];
    reg [1:0]  state;
    reg [11:0] size, at, length;
    reg        port;
    reg [19:0] sum;
    reg        good;
    reg [16:0] fresh;
    integer    k;

    wire [47:0] mac0 = 48'h020000000001, mac1 = 48'h020000000002;
    wire [47:0] peer0 = 48'h020000000101, peer1 = 48'h020000000102;
    wire [47:0] to = {frame[0], frame[1], frame[2], frame[3], frame[4], frame[5]};
    wire [15:0] total = {frame[16], frame[17]};
    wire [7:0]  net = frame[30];
    wire        way = net == 8'd20;
    wire [95:0] link = way ? {peer1, mac1} : {peer0, mac0};

    always @(posedge clk) begin
        out_valid <= 0; out_last <= 0; punt <= 0;
        if (rst) begin
            state <= RECEIVE; size <= 0;
        end else case (state)
            RECEIVE: if (in_valid) begin
                frame[size] <= in_data; size <= size + 1; port <= in_port;
                if (in_last) state <= CHECK;
            end
            CHECK: begin
                sum = 0;
                for (k = 14; k < 34; k = k + 2) sum = sum + {frame[k], frame[k + 1]};
                sum = sum[15:0] + sum[19:16];
                sum = sum[15:0] + sum[19:16];
                good = size >= 34 && to == (port ? mac1 : mac0) && {frame[12], frame[13]} == 16'h0800
                    && frame[14] == 8'h45 && sum[15:0] == 16'hFFFF && total >= 20 && total + 14 <= size
                    && frame[22] > 1 && (net == 20 || net == 21) && way != port
                    && frame[26] == 10 && frame[27] == port && frame[28] == 0 && frame[29] > 1 && frame[29] < 255
                    && total <= (way ? MTU1 : MTU0);
                size <= 0; at <= 0; length <= total + 14; out_port <= way;
                // HC' = ~(~HC + ~m + m'), m being time to live and protocol
                fresh = {1'b0, ~frame[24], ~frame[25]} + {1'b0, ~frame[22], ~frame[23]};
                if (FAULT == 0) fresh = fresh[15:0] + fresh[16];
                fresh = fresh[15:0] + {frame[22] - 8'd1, frame[23]};
                if (FAULT == 0) fresh = fresh[15:0] + fresh[16];
                if (good) begin
                    for (k = 0; k < 12; k = k + 1) frame[k] <= link[95 - 8 * k -: 8];
                    frame[22] <= frame[22] - 1;
                    {frame[24], frame[25]} <= ~fresh[15:0];
                    state <= SEND;
                end else begin
                    punt <= 1; state <= RECEIVE;
                end
            end
            SEND: begin
                out_valid <= 1; out_data <= frame[at]; at <= at + 1;
                if (at == length - 1) begin out_last <= 1; state <= RECEIVE; end
            end
        endcase
    end
endmodule
