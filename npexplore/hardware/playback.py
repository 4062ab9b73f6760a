"""Playback of a step program's calls: a test bench's units give the answers that its accelerators gave."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from npexplore.errors import InputError
from npexplore.hardware.described import Case, StepHardware
from npexplore.hardware.packing import filled
from npexplore.hardware.programs import Outside
from npexplore.hardware.verilog import Ports
from npexplore.machine.step_programs import Answer, Compiled
from npexplore.machine.step_programs import Call as StepCall
from npexplore.machine.step_programs.execution import Accelerator

STALLS, MOST_STALLS = 5, 12  # stalled cycles of 16, on each handshake
MOST_ROWS = 1 << 17  # calls of one port that a bench plays back
Call = tuple[str, int]  # a port, and the bits of the request


@dataclass(frozen=True)
class Found:
    """The result of a verification: packets, differences, and cycles per packet without stalls.

    A difference is a packet with another result, a lost or duplicate packet, or a call that is made more or less often
    than by the step program. first: a text on the first difference ("" without one). overtaken: packets that left right
    after a later one.
    """

    packets: int
    differences: int
    first: str
    overtaken: int
    cycles_per_packet: float


class Calls:
    """The calls that a step program makes for packets, by the ports of its hardware, and their answers."""

    def __init__(self, hardware: StepHardware, ports: Ports) -> None:
        self.hardware, self.ports = hardware, ports
        self.requests, self.answers = Counter[Call](), dict[Call, int]()

    def executed(self, cases: Sequence[Case]) -> list[dict[str, Any]]:
        """Run the step program, record its calls, return its results; raises InputError for a stateful accelerator."""
        with_ports = dataclasses.replace(self.hardware, compiled=self._by_ports())
        units, results = {port: self._noted(port) for port in self.ports.asks}, list[dict[str, Any]]()
        for case in cases:
            context = with_ports.run(case, units).context
            results.append({name: getattr(context, name) for name in self.hardware.results})
        return results

    def rows(self, widths: Mapping[str, tuple[int, int]]) -> dict[str, list[int]]:
        """Return the rows of each port, sorted: request and answer as one number; raises InputError for too many.

        widths: bits of request and answer by port.
        """
        rows_by_port: dict[str, list[int]] = {port: [] for port in widths}
        for (port, ask), answer in sorted(row for row in self.answers.items() if row[0][0] in widths):
            rows_by_port[port].append(ask << widths[port][1] | answer)
        for port, rows in rows_by_port.items():
            if len(rows) > MOST_ROWS:
                raise InputError(f"port {port} has {len(rows)} different calls, and the bench plays {MOST_ROWS} back")
        return rows_by_port

    def _by_ports(self) -> Compiled:
        """Return the program with calls of ports in place of calls of the accelerators behind them."""
        compiled = self.hardware.compiled
        pieces = dict(compiled.pieces)
        for name, port_names in self.ports.of.items():
            ports, renamed_pieces = iter(port_names), []
            for piece in compiled.pieces[name]:
                calls = [
                    dataclasses.replace(call, accelerator=next(ports)) if self._outside(call) else call
                    for call in piece.calls
                ]
                renamed_pieces.append(dataclasses.replace(piece, calls=tuple(calls)))
            pieces[name] = tuple(renamed_pieces)
        return dataclasses.replace(compiled, pieces=pieces)

    def _outside(self, call: StepCall) -> bool:
        return isinstance(self.hardware.units[call.accelerator], Outside)

    def _noted(self, port: str) -> Accelerator:
        """Return the accelerator behind a port, wrapped so that its calls are recorded."""
        name = self.ports.accelerator[port]
        accelerator, unit, packed = self.hardware.answering[name], self.hardware.units[name], self.ports.replies[port]
        assert isinstance(unit, Outside)

        def answer(*arguments: Any) -> Answer:
            answered, ask, low = accelerator(*arguments), 0, 0
            flat = [
                part
                for argument in arguments
                for part in (argument if isinstance(argument, tuple | bytes) else (argument,))
            ]
            for part, bits in zip(flat, self.ports.widths[port], strict=True):
                ask |= (part & (1 << bits) - 1) << low
                low += bits
            is_entry = unit.table is not None and answered.value is not None
            value = list(unit.table or ()).index(answered.value) if is_entry else answered.value
            registers, reply_bits = filled(unit.reply, value, ""), 0
            for leaf, (at_bit, bits) in packed.at.items():
                reply_bits |= (registers.get(leaf, 0) & (1 << bits) - 1) << at_bit
            self.requests[port, ask] += 1
            if self.answers.setdefault((port, ask), reply_bits) != reply_bits:
                raise InputError(f"accelerator {name!r} answers one call in two ways; to be verified it has no state")
            return answered

        return answer

    def differences(self, ports: Sequence[str], text: str) -> tuple[int, str]:
        """Return how many distinct calls have a wrong count, and a text on one of them.

        text: lines `port call` of the bench. ports: the ports that leave the design.
        """
        simulated, expected = (
            Counter[Call](),
            Counter({call: count for call, count in self.requests.items() if call[0] in ports}),
        )
        for line in text.splitlines():
            unit, ask = line.split()
            known = not set(ask.lower()) & set("xz")
            simulated[ports[int(unit)], int(ask, 16) if known else -1] += 1
        wrong = sorted(call for call in simulated.keys() | expected.keys() if simulated[call] != expected[call])
        if not wrong:
            return 0, ""
        port, call = wrong[0]
        message = f"{port} is asked {call:#x} {simulated[wrong[0]]} times, by the step program {expected[wrong[0]]}"
        return len(wrong), message


def played_back(port: str, ask: int, reply: int) -> str:
    """Return a unit that answers from a file of sorted (request, answer) numbers."""
    return f"""module answers_{port} #(parameter WHO = 2, parameter DELAY = 12) (
  input clk, input rst, input in_valid, output in_ready, input [WHO+{ask - 1}:0] in_data,
  output out_valid, input out_ready, output [WHO+{reply - 1}:0] out_data
);
  reg [{ask + reply - 1}:0] rows [0:{MOST_ROWS - 1}];
  integer count;
  initial begin
    if (!$value$plusargs("rows_{port}=%d", count)) count = 0;
    if (count != 0) $readmemh("{port}.hex", rows, 0, count - 1);
  end
  function [{reply - 1}:0] found;
    input [{ask - 1}:0] key;
    integer low, high, middle, k;
    reg [{ask + reply - 1}:0] row;
    begin
      low = 0; high = count;
      for (k = 0; k <= {MOST_ROWS.bit_length()}; k = k + 1)
        if (high > low) begin
          middle = (low + high) / 2;
          row = rows[middle];
          if (row[{ask + reply - 1}:{reply}] < key) low = middle + 1; else high = middle;
        end
      row = rows[low];
      found = (low < count && row[{ask + reply - 1}:{reply}] == key) ? row[{reply - 1}:0] : ~{reply}'d0;
    end
  endfunction
  line #(.DELAY(DELAY), .WIDTH(WHO + {reply})) waits (.clk(clk), .rst(rst), .in_valid(in_valid), .in_ready(in_ready),
    .in_data({{in_data[WHO+{ask - 1}:{ask}], found(in_data[{ask - 1}:0])}}), .out_valid(out_valid),
    .out_ready(out_ready), .out_data(out_data));
endmodule
"""
