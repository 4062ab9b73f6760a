"""The processor as Verilog: several lanes that share the channels of one memory (Gorilla, Secs. 4.2, 4.5.2).

    port of a cluster -> balancer over channels, in turn -> global arbiter of a channel -> channel
    answer of a channel -> selection by caller -> merge of all channels -> port of the cluster

A stream takes one packet per cycle, so that a processor with a higher rate has several lanes: packet n goes to lane
n mod L, and leaves it in order if the lanes have reorder queues. A call to a channel carries the number of the
cluster's port and the kind of accelerator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from npexplore.hardware.templates.group import Face, at, valve


@dataclass(frozen=True)
class Processor:
    """The numbers of lanes and channels, and whether arbiters are fair. kinds: accelerators; kind_of: kind by port.

    The names of a lane's ports are those of its members with the suffix `_mK`.
    """

    lanes: int
    channels: int
    fair: bool
    kinds: Sequence[str]
    kind_of: Mapping[str, str]

    def sizes(self, lane: Face) -> tuple[int, int, int]:
        """Return the bits of a channel's caller, of a call with its kind, and of an answer."""
        ask = max(ask for ask, _ in lane.ports.values())
        reply = max(reply for _, reply in lane.ports.values())
        return at(self.lanes * len(lane.ports)) + lane.who, at(len(self.kinds)) + ask, reply

    def kind(self, port: str) -> int:
        """Return the number of the kind that a lane's port calls."""
        return list(self.kinds).index(self.kind_of[port.rpartition("_m")[0]])


def processor_text(chip: Processor, lane: Face) -> str:
    """Return the module `processor`: streams `in0_* ... out0_*` of each lane, and `channel0_* ...`."""
    who, ask, reply = chip.sizes(lane)
    heads, lines = ["  input clk", "  input rst"], list[str]()
    for k in range(chip.lanes):
        heads += [
            f"  input in{k}_valid", f"  output in{k}_ready", f"  input [{lane.tag - 1}:0] in{k}_tag",
            f"  input [{lane.begins - 1}:0] in{k}_packet", f"  output out{k}_valid", f"  input out{k}_ready",
            f"  output [{lane.tag - 1}:0] out{k}_tag", f"  output [{lane.results - 1}:0] out{k}_packet",
        ]  # fmt: skip
    for m in range(chip.channels):
        heads += [
            f"  output channel{m}_valid", f"  input channel{m}_ready", f"  output [{who - 1}:0] channel{m}_who",
            f"  output [{ask - 1}:0] channel{m}_ask", f"  input channel{m}_done", f"  output channel{m}_take",
            f"  input [{who - 1}:0] channel{m}_for", f"  input [{reply - 1}:0] channel{m}_reply",
        ]  # fmt: skip
    requesters = [(k, port) for k in range(chip.lanes) for port in lane.ports]
    for k in range(chip.lanes):
        lines += _lane(lane, k)
    for r, (k, port) in enumerate(requesters):
        lines += _requester(chip, lane, r, f"l{k}_{port}", lane.ports[port])
    for m in range(chip.channels):
        lines += _channel(chip, lane, m, requesters)
    return "\n".join(["module processor (\n" + ",\n".join(heads) + "\n);", *lines, "endmodule", ""])


def _lane(lane: Face, k: int) -> list[str]:
    """Return the lines for lane k and the wires of its ports."""
    lines, connections = list[str](), [".clk(clk)", ".rst(rst)"]
    ends = ("in_valid", "in_ready", "in_tag", "in_packet", "out_valid", "out_ready", "out_tag", "out_packet")
    connections += [f".{end}({end.split('_')[0]}{k}_{end.split('_')[1]})" for end in ends]
    for port, (ask, reply) in lane.ports.items():
        name = f"l{k}_{port}"
        lines += [
            f"  wire {name}_valid, {name}_ready, {name}_done, {name}_take;",
            f"  wire [{lane.who - 1}:0] {name}_who, {name}_for;", f"  wire [{ask - 1}:0] {name}_ask;",
            f"  wire [{reply - 1}:0] {name}_reply;",
        ]  # fmt: skip
        connections += [
            f".{port}_{end}({name}_{end})" for end in ("valid", "ready", "who", "ask", "done", "take", "for", "reply")
        ]
    return [*lines, f"  {lane.name} lane{k} ({', '.join(connections)});"]


def _requester(chip: Processor, lane: Face, r: int, name: str, bits: tuple[int, int]) -> list[str]:
    """Return the lines that distribute one port's calls over channels and merge the answers."""
    m, (_, reply) = chip.channels, bits
    reply_bits, widest_reply = lane.who + reply, chip.sizes(lane)[2]
    replies = [f"{{channel{j}_for[{lane.who - 1}:0], channel{j}_reply[{reply - 1}:0]}}" for j in range(m)]
    assert widest_reply >= reply
    return [
        f"  wire [{m - 1}:0] s{r}_valid, s{r}_ready, b{r}_valid, b{r}_ready;",
        f"  balancer #(.N({m}), .AT({at(m)}), .STRICT(1), .FIRST({r % m})) spread{r} (.clk(clk), .rst(rst), "
        f".in_valid({name}_valid), .in_ready({name}_ready), .out_valid(s{r}_valid), .out_ready(s{r}_ready));",
        f"  wire [{at(m) + reply_bits - 1}:0] b{r}_data;", f"  wire b{r}_v, b{r}_r;",
        f"  arbiter #(.N({m}), .AT({at(m)}), .WIDTH({reply_bits}), .FAIR(1)) back{r} (.clk(clk), .rst(rst), "
        f".in_valid(b{r}_valid), .in_ready(b{r}_ready), .in_data({{{', '.join(reversed(replies))}}}), "
        f".out_valid(b{r}_v), .out_ready(b{r}_r), .out_data(b{r}_data));",
        valve(
            f"answers{r}", 100_000 + r, reply_bits, (f"b{r}_v", f"b{r}_r", f"b{r}_data[{reply_bits - 1}:0]"),
            (f"{name}_done", f"{name}_take", f"{{{name}_for, {name}_reply}}"),
        ),
        *(f"  assign b{r}_valid[{j}] = channel{j}_done & (of{j} == {_digits(chip, lane)}'d{r});" for j in range(m)),
    ]  # fmt: skip


def _digits(chip: Processor, lane: Face) -> int:
    return at(chip.lanes * len(lane.ports))


def _channel(chip: Processor, lane: Face, m: int, requesters: Sequence[tuple[int, str]]) -> list[str]:
    """Return the lines for the global arbiter of channel m and for the selection of an answer's caller."""
    n, (who, ask, _) = len(requesters), chip.sizes(lane)
    kinds, number = at(len(chip.kinds)), _digits(chip, lane)
    width = lane.who + ask

    def request(k: int, port: str) -> str:
        bits = lane.ports[port][0]
        fill = f"{ask - kinds - bits}'d0, " if ask - kinds > bits else ""
        return f"l{k}_{port}_who, {kinds}'d{chip.kind(port)}, {fill}l{k}_{port}_ask"

    order = range(n)[::-1]
    parts = ", ".join(request(*requesters[r]) for r in order)
    lines = [
        f"  wire [{n - 1}:0] c{m}_ready;", f"  wire c{m}_v, c{m}_r;", f"  wire [{number + width - 1}:0] c{m}_data;",
        f"  arbiter #(.N({n}), .AT({number}), .WIDTH({width}), .FAIR({int(chip.fair)})) global{m} (.clk(clk), "
        f".rst(rst), .in_valid({{{', '.join(f's{r}_valid[{m}]' for r in order)}}}), .in_ready(c{m}_ready), "
        f".in_data({{{parts}}}), .out_valid(c{m}_v), .out_ready(c{m}_r), .out_data(c{m}_data));",
        valve(
            f"asks{m}", 200_000 + m, number + width, (f"c{m}_v", f"c{m}_r", f"c{m}_data"),
            (f"channel{m}_valid", f"channel{m}_ready", f"{{channel{m}_who, channel{m}_ask}}"),
        ),
        f"  wire [{number - 1}:0] of{m} = channel{m}_for[{who - 1}:{lane.who}];",
    ]  # fmt: skip
    lines += [f"  assign s{r}_ready[{m}] = c{m}_ready[{r}];" for r in range(n)]
    takes = " | ".join(f"(b{r}_valid[{m}] & b{r}_ready[{m}])" for r in range(n))
    return [*lines, f"  assign channel{m}_take = {takes};"]
