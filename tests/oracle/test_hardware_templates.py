"""Templates one by one, between random sources and sinks, against plain models; faults planted in each are seen."""

import random
import subprocess
from functools import cache

import pytest
from reference.router_cases import named_cases
from reference.stream_bench import Stream, run

from npexplore.designs.gorilla.steps import Box
from npexplore.designs.gorilla.walk import Walk
from npexplore.golden.checksum import internet_checksum
from npexplore.golden.flow_counters import FlowCounters
from npexplore.golden.mpls.label_cache import LabelCache, LabelTable
from npexplore.golden.router.forward import Forwarder
from npexplore.hardware.engine import store
from npexplore.hardware.templates.frames import frames_text
from npexplore.hardware.templates.memory import SYNCHRONISER, WAVERING_SYNCHRONISER, memory_text
from npexplore.hardware.templates.streams import streams_text
from npexplore.hardware.templates.tables import tables_text
from npexplore.hardware.verilog import Packed

MADE_OF = store("registers")
PARTS = streams_text(MADE_OF) + memory_text(MADE_OF, synchroniser=False) + WAVERING_SYNCHRONISER
TABLES, FRAMES = PARTS + tables_text(MADE_OF), PARTS + frames_text()
CLOCKS = [{"clk": 10_000, "mem_clk": 3_333}, {"clk": 3_000, "mem_clk": 10_070}, {"clk": 10_000, "mem_clk": 9_900}]


def ports(stream, bits, into=True):
    ways = ("input", "output") if into else ("output", "input")
    return f"  {ways[0]} {stream}_valid, {ways[1]} {stream}_ready, {ways[0]} [{bits - 1}:0] {stream}_data"


def linked(*streams):
    ends = ("valid", "ready", "data")
    return ", ".join(f".{one}_{end}({one}_{end})" for one in streams for end in ends)


def seen(what, instead, text, hold):
    """Say whether a fault planted in a text is seen; `hold` says whether a text does what it must."""
    assert what in text, what
    return not hold(text.replace(what, instead))


# crossings between clocks

CROSSED = f"""module top (input clk, input rst, input mem_clk, input mem_rst,
{ports("in", 16)}, {ports("out", 16, False)});
  crossing #(.AT(2), .WIDTH(16)) dut (.in_clk(clk), .in_rst(rst), .out_clk(mem_clk), .out_rst(mem_rst),
    {linked("in", "out")});
endmodule
"""
CROSSING_FAULTS = {
    "told <= next_written ^ (next_written >> 1)": "told <= next_written",  # several bits change at once
    "freed <= next_taken ^ (next_taken >> 1)": "freed <= next_taken",
    "assign in_ready = told != (back ^ (2'd3 << AT - 1));": "assign in_ready = 1'b1;",
    "if (in_valid & in_ready) places": "if (in_valid) places",
    "assign out_data = places[taken[AT-1:0]]": "assign out_data = places[seen[AT-1:0]]",
}


def crossed(folder, clocks, stalls, parts=PARTS):
    rng = random.Random(1)
    words = [rng.getrandbits(16) for _ in range(600)]
    streams = [Stream("in", 16)], [Stream("out", 16, "mem_clk")]
    found = run(folder, parts + CROSSED, "top", *streams, [words], stalls, clocks)
    return found.words == [words] and not found.broken


@pytest.mark.parametrize("clocks", CLOCKS)
def test_a_crossing_keeps_every_word(clocks, tmp_path):
    assert crossed(tmp_path, clocks, 0)
    assert crossed(tmp_path, clocks, 6)


@pytest.mark.parametrize("what", CROSSING_FAULTS)
def test_faults_of_a_crossing_are_seen(what, tmp_path):
    def hold(text):
        return all(crossed(tmp_path, clocks, 6, text) for clocks in CLOCKS)

    assert seen(what, CROSSING_FAULTS[what], PARTS, hold)


# ports that share a memory's channel

QDR_TOP = f"""module top (input clk, input rst, input mem_clk, input mem_rst,
{ports("in", 10)}, {ports("also", 10)}, {ports("out", 14, False)}, {ports("other", 14, False)});
  wire read;
  wire [7:0] read_at;
  wire [11:0] read_data;
  reg [11:0] found [0:4];
  integer d;
  qdr #(.N(2), .AT(1), .WHO(2), .ADDRESS(8), .DATA(12), .DELAY(5), .QUEUE(2)) dut (.clk(clk), .rst(rst),
    .mem_clk(mem_clk), .mem_rst(mem_rst), .in_valid({{also_valid, in_valid}}), .in_ready({{also_ready, in_ready}}),
    .in_data({{also_data, in_data}}), .out_valid({{other_valid, out_valid}}), .out_ready({{other_ready, out_ready}}),
    .out_data({{other_data, out_data}}), .read(read), .read_at(read_at), .read_data(read_data));
  always @(posedge mem_clk) begin
    found[0] <= read ? read_at * 13 + 5 : 12'dx;
    for (d = 1; d < 5; d = d + 1) found[d] <= found[d-1];
  end
  assign read_data = found[4];
endmodule
"""
QDR_FAULTS = {
    "assign free[g] = owed != (1 << QUEUE);": "assign free[g] = 1'b1;",  # more reads than places
    ".in_valid(asks & free)": ".in_valid(asks)",  # a read for one that has no place
    "(owner[AT+WHO-1:WHO] == g)": "(g == 0)",
    "wire found = under_way[DELAY-1];": "wire found = under_way[DELAY-2];",  # a clock early
    "whose[0] <= chosen[AT+WHO+ADDRESS-1:ADDRESS]": "whose[0] <= 0",
    "owed <= owed + goes - (there & leaves)": "owed <= owed + goes",  # places that are never free again
    ".out_ready(free[g] & taken[g])": ".out_ready(free[g])",  # a read that nobody makes
}


def shared(folder, text=PARTS):
    """Return whether each port gets its own words, in order: quick, stalled, and with slow readers."""
    rng = random.Random(13)
    calls = [[rng.getrandbits(10) for _ in range(300)] for _ in range(2)]
    expected = [[call >> 8 << 12 | (call & 255) * 13 + 5 & 4095 for call in one] for one in calls]
    into, out = [Stream("in", 10), Stream("also", 10)], [Stream("out", 14), Stream("other", 14)]
    for clocks in CLOCKS:
        for stalls, sinks in ((0, 0), (6, 6), (0, 14)):
            found = run(folder, text + QDR_TOP, "top", into, out, calls, stalls, clocks, sinks)
            if found.words != expected or found.broken:
                return False
    return True


@pytest.mark.slow
def test_a_channel_answers_each_port(tmp_path):
    assert shared(tmp_path)


@pytest.mark.parametrize("what", QDR_FAULTS)
def test_faults_of_a_channel_are_seen(what, tmp_path):
    assert seen(what, QDR_FAULTS[what], PARTS, lambda text: shared(tmp_path, text))


# trie walks over a memory of three times the clock

WALK_FAULTS = {
    "(owner[AT+WHO-1:WHO] == g)": "(g == 0)",  # another level's word
    "at_memory2_0 = 21'd1048576 +": "at_memory2_0 = 21'd1048577 +",
}


@cache
def walked():
    """Return a walk through the named router's table, calls that it is given, and the answers of the table itself."""
    trie = Box(Forwarder(named_cases()[0], profile="rfc1812", lookup="trie20_4_8")).ipv4.lpm
    rng, rows = random.Random(3), trie.routes()
    near = [(int(value) + by) % (1 << 32) for value in rows.value for by in (-1, 0, 1, 256)]
    keys = [rng.choice(near) if k % 3 else rng.getrandbits(32) for k in range(400)]
    made = Walk(trie, "lookup4", 3, 32, 7, Packed({".kind": (0, 1), ".is1": (1, 6)}, 7))
    expected = []
    for k, key in enumerate(keys):
        hop = trie.lookup(key)
        expected.append(k % 8 << 7 | (0 if hop is None else hop << 1 | 1))
    return made, [k % 8 << 32 | key for k, key in enumerate(keys)], expected


def walks(folder, clocks, stalls, text=None, sinks=None):
    made, calls, expected = walked()
    top = f"""module top (input clk, input rst, input mem_clk, input mem_rst,
{ports("in", 35)}, {ports("out", 10, False)});
  wire read;
  wire [{made.address - 1}:0] read_at;
  wire [{made.data - 1}:0] read_data;
  walk_lookup4 dut (.clk(clk), .rst(rst), .mem_clk(mem_clk), .mem_rst(mem_rst), {linked("in", "out")}, .read(read),
    .read_at(read_at), .read_data(read_data));
  chip_lookup4 chip (.clk(mem_clk), .read(read), .read_at(read_at), .read_data(read_data));
endmodule
"""
    (folder / "lookup4.hex").write_text(made.memory())
    whole = (PARTS + made.text() if text is None else text) + made.chip() + top
    return run(folder, whole, "top", [Stream("in", 35)], [Stream("out", 10)], [calls], stalls, clocks, sinks), expected


@pytest.mark.slow
@pytest.mark.parametrize("clocks", CLOCKS)
def test_a_trie_walk_finds_what_the_trie_finds(clocks, tmp_path):
    """With a memory of three times the clock a lookup a cycle, although each reads up to three words."""
    for stalls, sinks in ((0, 0), (6, 6), (0, 13)):
        found, expected = walks(tmp_path, clocks, stalls, sinks=sinks)
        assert found.words == [expected]
        assert not found.broken
        if sinks == 0 and clocks is CLOCKS[0]:
            assert found.cycles < 1.2 * len(expected)


@pytest.mark.slow
def test_faults_of_a_trie_walk_are_seen(tmp_path):
    def hold(text):
        found, expected = walks(tmp_path, CLOCKS[0], 6, text)
        return found.words == [expected] and not found.broken

    for what, instead in WALK_FAULTS.items():
        assert seen(what, instead, PARTS + walked()[0].text(), hold), what


# a hashed label table in front of a larger one

LABEL_TOP = f"""module top (input clk, input rst,
{ports("in", 22)}, {ports("out", 11, False)}, {ports("asked", 20, False)});
  wire ask_valid, ask_ready, answer_valid, answer_ready, keep_valid, keep_ready, room;
  wire [19:0] ask_data, keep_data;
  wire [8:0] answer_data;
  label_table #(.AT(2), .BIN(1), .NUMBER(8), .WHO(2)) dut (.clk(clk), .rst(rst),
    {linked("in", "out", "ask", "answer")});
  queue #(.PLACES(4), .AT(2), .WIDTH(20)) told (.clk(clk), .rst(rst), .in_valid(ask_valid & room),
    .in_ready(keep_ready), .in_data(ask_data), .out_valid(asked_valid), .out_ready(asked_ready), .out_data(asked_data));
  queue #(.PLACES(4), .AT(2), .WIDTH(20)) behind (.clk(clk), .rst(rst), .in_valid(ask_valid & keep_ready),
    .in_ready(room), .in_data(ask_data), .out_valid(answer_valid), .out_ready(answer_ready), .out_data(keep_data));
  assign ask_ready = room & keep_ready;
  assign answer_data = {{keep_data[7:0] ^ 8'h5a, keep_data % 5 != 0}};
endmodule
"""
LABEL_FAULTS = {
    "== label)": "== label + 1)",
    "state <= hit ? TELLS : ASKS": "state <= ASKS",  # nothing is ever found
    "turns[set] <= turns[set] + 1'b1": "turns[set] <= turns[set]",
    "if (answer_data[0]) begin": "begin",  # labels without an entry are kept
    "wire [AT-1:0] set = mixed[31 -: AT];": "wire [AT-1:0] set = mixed[AT-1:0];",
    "here[victim] <= 1'b1;": "here[victim] <= 1'b0;",
    "assign in_ready = state == FREE;": "assign in_ready = 1'b1;",
}


def labelled(folder, stalls, text=TABLES):
    """Return whether answers, and the calls of the table behind, are those of the plain model."""
    rng, table = random.Random(5), LabelTable()
    chosen = [rng.getrandbits(20) for _ in range(16)]
    labels = [rng.choice(chosen) for _ in range(400)]
    for label in chosen:
        if label % 5:
            table.bind(label, label & 0xFF ^ 0x5A)
    cache_, answers, asked = LabelCache(table, sets=4, bins=2), [], []
    for k, label in enumerate(labels):
        number, reads = cache_.look_up(label)
        asked += [label] * (len(reads) - 1)
        told = (label & 0xFF ^ 0x5A) << 1 | (number >= 0)
        answers.append(k % 4 << 9 | told)
    calls = [k % 4 << 20 | label for k, label in enumerate(labels)]
    streams = [Stream("in", 22)], [Stream("out", 11), Stream("asked", 20)]
    found = run(folder, text + LABEL_TOP, "top", *streams, [calls], stalls)
    return found.words == [answers, asked] and not found.broken and len(asked) < len(labels)


def test_a_label_table_answers_as_the_plain_one_and_asks_as_often(tmp_path):
    assert labelled(tmp_path, 0)
    assert labelled(tmp_path, 6)


def test_faults_of_a_label_table_are_seen(tmp_path):
    for what, instead in LABEL_FAULTS.items():
        assert seen(what, instead, TABLES, lambda text: labelled(tmp_path, 6, text)), what


# flow counters

COUNTER_TOP = f"""module top (input clk, input rst, {ports("in", 40)}, {ports("out", 2, False)});
  wire read, write;
  wire [7:0] read_at, write_at;
  wire [71:0] read_data, write_data;
  counters #(.FLOW(6), .MORE(16), .WHO(2), .DELAY(4)) dut (.clk(clk), .rst(rst), {linked("in", "out")}, .read(read),
    .read_at(read_at), .read_data(read_data), .write(write), .write_at(write_at), .write_data(write_data));
  reg [71:0] words [0:255];
  reg [71:0] found [0:3];
  integer file, d;
  initial begin
    for (d = 0; d < 256; d = d + 1) words[d] = d == 1 ? 72'd1 << 68 : d == 2 ? ~72'd2 : 72'd0;
    file = $fopen("written.txt", "w");
  end
  always @(posedge clk) begin
    found[0] <= read ? words[read_at] : 72'dx;
    for (d = 1; d < 4; d = d + 1) found[d] <= found[d-1];
    if (write & ~rst) begin
      words[write_at] <= write_data;
      $fdisplay(file, "%h %h", write_at, write_data);
    end
  end
  assign read_data = found[3];
endmodule
"""
COUNTER_FAULTS = {
    "if (busy[k] && flows[k] == asked) meets = 1'b1": "",  # a flow that is counted twice at once
    "localparam SPAN = DELAY + 5;": "localparam SPAN = DELAY - 1;",
    "& (owed != 5'd16)": "",  # more than there are places
    "number == 0 ? 1 :": "number == 1 ? 1 :",
    "write <= going[DELAY-1];": "write <= going[DELAY-2];",
    "write_data <= read_data + adds[DELAY-1]": "write_data <= read_data[63:0] + adds[DELAY-1]",  # 8 bits are lost
}


def counted(folder, stalls, text=TABLES, sinks=None):
    rng, plain = random.Random(7), FlowCounters(3)
    flows = [(rng.choice((0, 0, 9, rng.getrandbits(6))), rng.getrandbits(16), rng.getrandbits(16)) for _ in range(300)]
    calls = [(k % 4) << 38 | b << 22 | a << 6 | flow for k, (flow, a, b) in enumerate(flows)]
    found = run(folder, text + COUNTER_TOP, "top", [Stream("in", 40)], [Stream("out", 2)], [calls], stalls, sinks=sinks)
    for flow, a, b in flows:
        plain.count(flow >> 3, flow & 7, (a, b))
    words = {}
    for line in (folder / "written.txt").read_text().splitlines():
        at, word = line.split()
        if set(word) & set("xz"):
            return False
        words[int(at, 16)] = int(word, 16)
    expected = {}
    for flow in {flow for flow, _, _ in flows}:
        expected |= {flow << 2 | k: number for k, number in enumerate(plain.read(flow >> 3, flow & 7))}
    for at, began in ((1, 1 << 68), (2, (1 << 72) - 3)):  # as the memory was at first
        expected[at] = (expected[at] + began) % (1 << 72)
    return found.words == [[k % 4 for k in range(300)]] and words == expected and not found.broken


def test_flow_counters_count_as_the_plain_ones(tmp_path):
    assert counted(tmp_path, 0)
    assert counted(tmp_path, 6)
    assert counted(tmp_path, 0, sinks=15)


@pytest.mark.slow
def test_faults_of_flow_counters_are_seen(tmp_path):
    for what, instead in COUNTER_FAULTS.items():
        assert seen(what, instead, TABLES, lambda text: counted(tmp_path, 0, text, 15)), what


# header and body apart and together again; the checksum of frames

FRAME_TOP = f"""module top (input clk, input rst, {ports("in", 134)}, {ports("out", 134, False)});
  wire head_valid, head_ready, body_valid, body_ready, made_valid, made_ready, rest_valid, rest_ready;
  wire [392:0] head_data, made_data;
  wire [133:0] body_data, rest_data;
  split #(.HEAD(3), .AT(3)) apart (.clk(clk), .rst(rst), {linked("in", "head", "body")});
  queue #(.PLACES(2), .AT(1), .WIDTH(393)) heads (.clk(clk), .rst(rst), .in_valid(head_valid), .in_ready(head_ready),
    .in_data(head_data), .out_valid(made_valid), .out_ready(made_ready), .out_data(made_data));
  queue #(.PLACES(4), .AT(2), .WIDTH(134)) bodies (.clk(clk), .rst(rst), .in_valid(body_valid), .in_ready(body_ready),
    .in_data(body_data), .out_valid(rest_valid), .out_ready(rest_ready), .out_data(rest_data));
  together #(.HEAD(3), .AT(3)) again (.clk(clk), .rst(rst), .head_valid(made_valid), .head_ready(made_ready),
    .head_data({{made_data[120], made_data[392:384], made_data[383:8], ~made_data[7:0]}}), .body_valid(rest_valid),
    .body_ready(rest_ready), .body_data(rest_data), {linked("out")});
endmodule
"""
SUM_TOP = f"""module top (input clk, input rst, {ports("in", 134)}, {ports("out", 16, False)});
  integrity dut (.clk(clk), .rst(rst), {linked("in", "out")});
endmodule
"""
FRAME_FAULTS = {
    "assign in_ready = behind ? body_ready : ~full | head_ready;": "assign in_ready = behind ? body_ready : 1'b1;",
    "if (taken & behind) behind <= ~last;": "if (taken) behind <= ~last;",
    "sent <= 0; behind <= ~whole; dropped <= drop;": "sent <= 0; behind <= ~whole; dropped <= 1'b0;",
    "assign head_ready = ~behind &": "assign head_ready =",  # a header before the body of the frame before
    "(ends & whole) ? bytes : 5'd16": "5'd16",
    "assign body_ready = behind & (dropped | out_ready);": "assign body_ready = behind;",
    "full <= 1'b1; behind <= ~last;": "full <= 1'b1; behind <= 1'b0;",
}
SUM_FAULTS = {
    "if (k >= in_data[132:128])": "if (k > in_data[132:128])",  # one byte too many
    "sum <= in_data[133] ? 16'd0 : next": "sum <= next",
    "folded[15:0] + folded[16]": "folded[15:0]",  # no carry comes round
    "assign in_ready = ~out_valid | out_ready;": "assign in_ready = 1'b1;",
}


@cache
def frames():
    rng = random.Random(11)
    sizes = [rng.choice((1, 15, 16, 17, 47, 48, 49, 64, rng.randint(1, 150))) for _ in range(200)]
    carried = bytes.fromhex("fffffffe0002")  # whose carry makes a carry
    return [carried if k % 9 == 0 else rng.randbytes(size) for k, size in enumerate(sizes)]


def words_of(frame):
    """Return a frame as words {last, bytes, word}; what is behind its end means nothing."""
    parts = [frame[k : k + 16] for k in range(0, len(frame), 16)]
    last = len(parts) - 1
    rows = [(k == last, len(one), int.from_bytes(one.ljust(16, b"\xa5"), "big")) for k, one in enumerate(parts)]
    return [int(end) << 133 | size << 128 | word for end, size, word in rows]


def streamed():
    return [word for frame in frames() for word in words_of(frame)]


def joined(folder, stalls, text=FRAMES):
    """Return whether frames come out in order, the 16th byte inverted, those dropped whose first byte is odd."""
    expected = []
    for frame in frames():
        if not frame[0] & 1:
            first, *rest = words_of(frame)
            expected += [first ^ 0xFF, *rest]
    found = run(folder, text + FRAME_TOP, "top", [Stream("in", 134)], [Stream("out", 134)], [streamed()], stalls)
    return found.words == [expected] and not found.broken


def summed(folder, stalls, text=FRAMES):
    expected = [internet_checksum(frame) for frame in frames()]
    found = run(folder, text + SUM_TOP, "top", [Stream("in", 134)], [Stream("out", 16)], [streamed()], stalls)
    return found.words == [expected] and not found.broken


@pytest.mark.parametrize("hold", [joined, summed])
def test_frames_come_together_in_order_and_are_summed(hold, tmp_path):
    assert hold(tmp_path, 0)
    assert hold(tmp_path, 6)


@pytest.mark.slow
@pytest.mark.parametrize(("hold", "faults"), [(joined, FRAME_FAULTS), (summed, SUM_FAULTS)])
def test_faults_of_frames_are_seen(hold, faults, tmp_path):
    for what, instead in faults.items():
        assert seen(what, instead, FRAMES, lambda text: hold(tmp_path, 6, text)), what


def test_verilator_takes_every_template(tmp_path):
    """Words that are free in Verilog 2005 are not all free there."""
    tops = [CROSSED, QDR_TOP, LABEL_TOP, COUNTER_TOP, FRAME_TOP, SUM_TOP]
    texts = [one.replace("module top", f"module top{k}") for k, one in enumerate(tops)]
    whole = "\n".join(
        [PARTS, tables_text(MADE_OF), frames_text(), SYNCHRONISER.replace("synchroniser", "plain"), *texts]
    )
    (tmp_path / "all.v").write_text("`timescale 1ns/1ps\n" + whole)
    command = ["verilator", "--lint-only", "--timing", "-Wno-fatal", "-Wno-MULTITOP", "all.v"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
