"""Calls of a step program, played back: what its accelerators answered is what the units of a test bench answer."""

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

STALLS, MOST_STALLS = 5, 12  # of 16 cycles, on each handshake
MOST_ROWS = 1 << 17  # calls that a bench plays back, of one port
Call = tuple[str, int]  # a port, and what it is asked


@dataclass(frozen=True)
class Found:
    """What a simulation says: packets, how many differ, are lost or come twice, and cycles of a packet without stalls.

    A call that is made more or less often than by the step program is a difference too.

    first: the first difference in words, empty without one. overtaken: packets that left before an earlier one.
    """

    packets: int
    differences: int
    first: str
    overtaken: int
    cycles_per_packet: float


class Calls:
    """The calls that a step program makes on packets, by the ports of its hardware, and what they are answered."""

    def __init__(self, hardware: StepHardware, ports: Ports) -> None:
        self.hardware, self.ports = hardware, ports
        self.requests, self.answers = Counter[Call](), dict[Call, int]()

    def executed(self, cases: Sequence[Case]) -> list[dict[str, Any]]:
        """Return the results of the step program; raises InputError for an accelerator that has a state."""
        own = dataclasses.replace(self.hardware, compiled=self._by_ports())
        units, calls = {port: self._noted(port) for port in self.ports.asks}, list[dict[str, Any]]()
        for case in cases:
            context = own.run(case, units).context
            calls.append({name: getattr(context, name) for name in self.hardware.results})
        return calls

    def rows(self, widths: Mapping[str, tuple[int, int]]) -> dict[str, list[int]]:
        """Return by port what was asked with its answer behind, sorted; raises InputError for too many.

        widths: bits of both.
        """
        rows_by_port: dict[str, list[int]] = {port: [] for port in widths}
        for (port, ask), answer in sorted(row for row in self.answers.items() if row[0][0] in widths):
            rows_by_port[port].append(ask << widths[port][1] | answer)
        for port, rows in rows_by_port.items():
            if len(rows) > MOST_ROWS:
                raise InputError(f"port {port} has {len(rows)} different calls, and the bench plays {MOST_ROWS} back")
        return rows_by_port

    def _by_ports(self) -> Compiled:
        """Return the program with ports in the place of the accelerators behind them."""
        compiled = self.hardware.compiled
        pieces = dict(compiled.pieces)
        for name, of in self.ports.of.items():
            ports, changed = iter(of), []
            for piece in compiled.pieces[name]:
                calls = [
                    dataclasses.replace(call, accelerator=next(ports)) if self._outside(call) else call
                    for call in piece.calls
                ]
                changed.append(dataclasses.replace(piece, calls=tuple(calls)))
            pieces[name] = tuple(changed)
        return dataclasses.replace(compiled, pieces=pieces)

    def _outside(self, call: StepCall) -> bool:
        return isinstance(self.hardware.units[call.accelerator], Outside)

    def _noted(self, port: str) -> Accelerator:
        """Return the accelerator behind a port, whose calls are written down."""
        name = self.ports.accelerator[port]
        own, unit, packed = self.hardware.answering[name], self.hardware.units[name], self.ports.replies[port]
        assert isinstance(unit, Outside)

        def answer(*arguments: Any) -> Answer:
            answered, ask, low = own(*arguments), 0, 0
            flat = [part for one in arguments for part in (one if isinstance(one, tuple | bytes) else (one,))]
            for part, bits in zip(flat, self.ports.widths[port], strict=True):
                ask |= (part & (1 << bits) - 1) << low
                low += bits
            known = unit.table is not None and answered.value is not None
            value = list(unit.table or ()).index(answered.value) if known else answered.value
            registers, whole = filled(unit.reply, value, ""), 0
            for leaf, (at_bit, bits) in packed.at.items():
                whole |= (registers.get(leaf, 0) & (1 << bits) - 1) << at_bit
            self.requests[port, ask] += 1
            if self.answers.setdefault((port, ask), whole) != whole:
                raise InputError(f"accelerator {name!r} answers one call in two ways; to be verified it has no state")
            return answered

        return answer

    def differences(self, ports: Sequence[str], text: str) -> tuple[int, str]:
        """Return how many different calls were made more or less often, and one in words; text: lines `port call`.

        ports: those that come out of the design.
        """
        seen_calls, expected_calls = (
            Counter[Call](),
            Counter({call: n for call, n in self.requests.items() if call[0] in ports}),
        )
        for line in text.splitlines():
            unit, ask = line.split()
            known = not set(ask.lower()) & set("xz")
            seen_calls[ports[int(unit)], int(ask, 16) if known else -1] += 1
        wrong = sorted(
            call for call in seen_calls.keys() | expected_calls.keys() if seen_calls[call] != expected_calls[call]
        )
        if not wrong:
            return 0, ""
        port, call = wrong[0]
        message = (
            f"{port} is asked {call:#x} {seen_calls[wrong[0]]} times, by the step program {expected_calls[wrong[0]]}"
        )
        return len(wrong), message


def played_back(port: str, ask: int, reply: int) -> str:
    """Return a unit that answers as a file says, which has what is asked and answered, sorted."""
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
