"""One access to DDR SDRAM as engine operations: row command, column commands, precharge, refresh, posted writes.

Who issues a command first waits until the rules of bank and channel allow it, then for the command bus. Rules between
column commands are two globals of a channel: the earliest next read and write. tRRD and tFAW are servers given back
late. Refresh needs no token: the first access behind a multiple of tREFI does it, as early as an idle controller would.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npexplore._kernels import engine
from npexplore.errors import ModelError
from npexplore.rows.assembler import Assembler, Label
from npexplore.rows.expressions import (
    Condition,
    Constant,
    Expression,
    Operand,
    Variable,
    ceildiv,
    expression,
    maximum,
)

if TYPE_CHECKING:
    from npexplore.machine.resources.ddr_controller import DdrController

CLOCKS = 1e-6  # of a clock: what binary fractions may do
FINEST_S = 1.5e-15  # ticks of 1 fs round what they cannot hold; coarser ones refuse it
ROW, COLUMN = 8, {"column": 7, "row": 9}  # priorities of tokens about to issue a row or (by `first`) a column command


@dataclass
class Access:
    """A read or write of `bursts` bursts in a row of a bank; `bank` counts over all channels."""

    ddr: DdrController
    asm: Assembler
    read: bool
    bank: Operand
    channel: Operand
    row: Operand
    bursts: Operand

    def _ticks(self, seconds: float) -> int:
        ticks, clock = seconds / self.asm.tick, self.ddr.timing.t_ck
        if self.ddr.whole_clocks and abs(seconds / clock - round(seconds / clock)) < CLOCKS:
            return round(seconds / clock) * round(clock / self.asm.tick)  # edges stay edges, however a clock is rounded
        if abs(ticks - round(ticks)) > 1e-6 and self.asm.tick > FINEST_S:
            raise ModelError(f"{self.ddr.name}: {seconds!r} s is not a whole number of ticks of {self.asm.tick!r} s")
        return round(ticks)

    def _server(self, name: str) -> str:
        return f"{self.ddr.name}.{name}"

    def _global(self, name: str) -> Expression:
        """Return the number of a global of this channel."""
        return expression(self.channel) + self.asm.shared_global(self._server(name), self.ddr.channels)

    def _bank_global(self, name: str) -> Expression:
        """Return the number of a global of this bank."""
        return expression(self.bank) + self.asm.shared_global(self._server(name), self.ddr.banks * self.ddr.channels)

    def _at_least(self, number: Operand, value: Operand) -> None:
        """Raise a global to a value."""
        with self.asm.scope():
            self.asm.write(number, maximum(self.asm.read(number), value))

    def _go_at(self, priority: Operand) -> None:
        """Set the token's priority."""
        with self.asm.scope():
            self.asm.value(engine.PRIORITY, priority)

    def _inside(self, variable: Operand, below: int) -> None:
        """Note that a number was checked by the operation just emitted."""
        if isinstance(variable, Variable):
            self.asm.limit(variable, below)

    # ---- the whole access

    def run(self, issued: Callable[[], None] | None = None) -> None:
        """From the controller's slot to the end of the data; `issued` is called behind the last column command."""
        d, asm = self.ddr, self.asm
        reads_turn = self.read and d.write_buffer is not None
        if reads_turn:
            asm.consume(self._server("turn"), member=self.channel)
        slot = asm.take(self._server("slots"), self.channel)
        self._inside(self.channel, d.channels)
        before = asm.priority(ROW)
        held = asm.take(self._server("bank"), self.bank)
        self._inside(self.bank, d.banks * d.channels)
        if d.whole_clocks:
            with asm.scope():
                clock = self._ticks(d.timing.t_ck)
                asm.wait_until(ceildiv(asm.now(), clock) * clock)
        if d.timing.t_rfc:
            self._refresh()
        opened: Expression | None = None
        if d.page == "open":
            self._open_row()
        else:
            opened = self._activate()
        self._go_at(COLUMN[d.first])
        last = self._columns()
        self._go_at(before)
        closing = last + self._ticks(d.close(self.read))
        if opened is not None:
            ready = Variable("bank ready")
            asm.let(ready, maximum(opened + self._ticks(d.cycle), closing + self._ticks(d.timing.t_rp)))
            self._leave_quiet(ready)
            with asm.fork(held) as bank:
                asm.wait_until(ready)
                assert bank is not None
                asm.give(bank)
        else:
            self._at_least(self._bank_global("precharge"), closing)
            self._leave_quiet(closing)
            asm.give(held)
        if reads_turn:
            asm.put(self._server("turn"), member=self.channel)
        if issued is not None:
            issued()
        asm.wait_until(last + self._ticks(d.latency(self.read)))
        asm.serve(self._server("bus"), self._ticks(d.burst), self.channel)
        asm.give(slot)

    # ---- commands

    def _command(self, name: str) -> Expression:
        """Issue a command: the command bus for a clock; return the time at which it began."""
        asm, clock = self.asm, self._ticks(self.ddr.timing.t_ck)
        column = name in ("RD", "WR")
        asm.serve(self._server("command"), clock, self.channel, key=0 if column == (self.ddr.first == "column") else 1)
        issued = asm.now("issued") - clock
        self.ddr.note(asm, name, self, issued)
        return issued

    def _activate(self) -> Expression:
        """Issue a row command as early as tRRD and tFAW allow, and wait for tRCD; return when it was issued."""
        d, asm, t = self.ddr, self.asm, self.ddr.timing
        if d.window:
            asm.consume(self._server("window"), member=self.channel)
        held = asm.take(self._server("activate"), self.channel) if d.rows_apart else None
        issued = self._command("ACT")
        if d.window or held is not None:
            with asm.fork(held) as apart:
                if apart is not None:
                    asm.wait_until(issued + self._ticks(t.t_rrd))
                    asm.give(apart)
                if d.window:
                    asm.wait_until(issued + self._ticks(t.t_faw))
                    asm.put(self._server("window"), member=self.channel)
        self._go_at(COLUMN[d.first])
        asm.wait_until(issued + self._ticks(t.t_rcd))
        return issued

    def _open_row(self) -> None:
        """Have the row open: nothing to do if it is (hit), open it (miss), close another one first (conflict)."""
        d, asm, t = self.ddr, self.asm, self.ddr.timing
        place, miss, hit = self._bank_global("row"), Label(), Label()
        with asm.scope():
            there = asm.read(place)  # 0: none is open, else row + 1
            different = Label()
            asm.jump(different, Condition("ne", there, expression(self.row) + 1))
            asm.count(self._server("row_hits"))
            asm.jump(hit)
            asm.place(different)
            asm.jump(miss, Condition("eq", there, Constant(0)))
        asm.count(self._server("row_conflicts"))
        with asm.scope():
            asm.wait_until(asm.read(self._bank_global("precharge")))
            closed = self._command("PRE")
            asm.wait_until(closed + self._ticks(t.t_rp))
            opening = Label()
            asm.jump(opening)
        asm.place(miss)
        asm.count(self._server("row_misses"))
        asm.place(opening)
        with asm.scope():
            asm.wait_until(asm.read(self._bank_global("cycle")))
            issued = self._activate()
            asm.write(place, expression(self.row) + 1)
            asm.write(self._bank_global("cycle"), issued + self._ticks(d.cycle))
            closing = issued + self._ticks(d.cycle - t.t_rp)
            self._at_least(self._bank_global("precharge"), closing)
            if t.t_rfc:
                self._at_least(self._global("idle"), closing)
        asm.place(hit)

    def _columns(self) -> Variable:
        """Issue the column commands one after the other, nobody between; return when the last was issued."""
        d, asm = self.ddr, self.asm
        last = Variable("column issued")
        asm.let(last, 0)
        column = asm.take(self._server("column"), self.channel)
        self._column(last)
        if not (isinstance(self.bursts, Constant) and self.bursts.value == 1):
            done, again, left = Label(), Label(), Variable("bursts left")
            with asm.scope():
                asm.let(left, expression(self.bursts) - 1)
                asm.jump(done, left <= 0)
                with asm.fork():  # data of all bursts but the last
                    asm.wait_until(last + self._ticks(d.latency(self.read)))
                    asm.serve(self._server("bus"), left * self._ticks(d.burst), self.channel)
                asm.place(again)
                self._column(last)
                asm.assign(left, left - 1)
                asm.jump(again, left > 0)
                asm.place(done)
        asm.give(column)
        return last

    def _column(self, issued: Variable) -> None:
        """Issue one column command when the channel's last ones allow it, and say when the next ones may come."""
        d, asm = self.ddr, self.asm
        mine, other = (self._global(name) for name in (("read", "write") if self.read else ("write", "read")))
        with asm.scope():
            asm.wait_until(asm.read(mine))
            asm.assign(issued, self._command("RD" if self.read else "WR"))
        asm.write(mine, issued + self._ticks(d.same))
        asm.write(other, issued + self._ticks(d.read_to_write if self.read else d.write_to_read))

    # ---- refresh

    def _refresh(self) -> None:
        """Pass the gate; the first access behind a multiple of tREFI waits until all have left and refreshes."""
        d, asm, t = self.ddr, self.asm, self.ddr.timing
        refreshed, idle, gate = self._global("refreshed"), self._global("idle"), self._server("quiet")
        interval, through = self._ticks(t.t_refi), Label()
        with asm.scope():
            before, now = asm.read(refreshed), asm.now()
            asm.jump(through, now - before < interval)
            due, begin = Variable("due"), Variable("refresh begins")
            asm.let(due, before + (now - before) // interval * interval)
            asm.write(refreshed, due)
            asm.consume(gate, d.banks, self.channel)
            asm.let(begin, maximum(due, asm.read(idle)))
            if d.page == "open":
                d.note(asm, "PREA", self, begin)
                asm.assign(begin, begin + self._ticks(max(t.t_rp, t.t_ck)))
                rows = asm.shared_global(self._server("row"), d.banks * d.channels)
                for bank in range(d.banks):
                    asm.write(expression(self.channel) * d.banks + rows + bank, 0)
            d.note(asm, "REF", self, begin)
            asm.write(idle, begin + self._ticks(t.t_rfc))  # the next one may be due already
            asm.wait_until(begin + self._ticks(t.t_rfc))
            asm.put(gate, d.banks, self.channel)
        asm.place(through)
        asm.consume(gate, 1, self.channel)

    def _leave_quiet(self, time: Operand) -> None:
        """No command of this access keeps a refresh from `time` on (closed: the bank is idle; open: may be closed)."""
        if self.ddr.timing.t_rfc:
            self._at_least(self._global("idle"), time)
            self.asm.put(self._server("quiet"), 1, self.channel)

    # ---- posted writes

    def post(self) -> None:
        """Leave the write in the buffer and go on; it is done when its turn in a drain comes."""
        asm = self.asm
        entry = asm.take(self._server("posted"), self.channel)
        self._inside(self.channel, self.ddr.channels)
        with asm.fork(entry) as held:
            asm.write(self._global("gathered"), asm.read(self._global("gathered")) + 1)
            self._drain()
            asm.consume(self._server("posted.waiting"), member=self.channel)
            self.run(issued=self._drained)
            assert held is not None
            asm.give(held)
            self._drain()
        first, channels = asm.number(self._server("posted.waiting")), self.ddr.channels
        if first not in asm.at_rest:  # a run may end with writes in the buffer
            asm.at_rest += range(first, first + channels)
            asm.spare_tokens += (self.ddr.write_buffer.entries if self.ddr.write_buffer else 0) * channels

    def _drain(self) -> None:
        """Start a drain if enough writes are there and none goes on: stop the reads, let the writes beyond `low` go."""
        d, asm, buffer, nothing = self.ddr, self.asm, self.ddr.write_buffer, Label()
        assert buffer is not None
        with asm.scope():
            asm.jump(nothing, asm.read(self._global("draining")) > 0)
            gathered, many = asm.read(self._global("gathered")), Variable("to drain")
            asm.jump(nothing, gathered < buffer.high)
            asm.let(many, gathered - buffer.low)
            asm.write(self._global("draining"), many)
            asm.consume(self._server("turn"), d.slots, self.channel)
            asm.put(self._server("posted.waiting"), many, self.channel)
        asm.place(nothing)

    def _drained(self) -> None:
        """One write fewer; the last of a drain lets the reads go on."""
        asm, more = self.asm, Label()
        with asm.scope():
            asm.write(self._global("gathered"), asm.read(self._global("gathered")) - 1)
            left = Variable("left to drain")
            asm.let(left, asm.read(self._global("draining")) - 1)
            asm.write(self._global("draining"), left)
            asm.jump(more, left > 0)
            asm.put(self._server("turn"), self.ddr.slots, self.channel)
        asm.place(more)
