"""DDR SDRAM behind a controller, closed page: slot, bank, row command, column command, data, precharge by itself.

    read:      slot -> bank -> (refresh) -> row command -> tRCD -> column command -> tCL -> gating -> data bus -> leave
    write:     the same with tWL for tCL, or its data cross the bus before the bank is asked for (bus_first)
    precharge: not before row + tRAS nor (write) data + tWR -> command -> tRP -> bank free
    data bus:  overhead + bytes / (bytes per second), bytes rounded up to the access quantum
    back pressure: with queue_limit requests outstanding, the next ones wait until queue_resume are left

A bank is held from before its row command to the end of its precharge; the packet leaves when its data have passed.
This is the resource usage model of Wang (2005), as in the Petri net of the IXP2400 paper, Sec. 3.1. It has no further
rules (no tRRD, tFAW, turn-around); ddr_controller.py has all rules of a part.

Alone: bounds are the peak rate of the bus and tRC a bank; no exact result for both together.
"""

from dataclasses import dataclass
from typing import Literal, get_args, get_type_hints

from npexplore.errors import ModelError, one_of
from npexplore.machine.holding import Holding
from npexplore.machine.resources.base import Example, Resource, Server, count_of, rate_of, time_of
from npexplore.machine.resources.dram_timing import DramTiming
from npexplore.machine.visits import Operands, VisitRecorder
from npexplore.rows.assembler import Assembler
from npexplore.rows.base import Label
from npexplore.rows.expressions import ceildiv, maximum


@dataclass(frozen=True)
class DramOptions:
    """Properties of a controller that papers do not state.

    admission: an access takes a slot and then waits for its bank (in_order), or takes both at once (together).
    gating: the bank is free when the data have passed the I/O gating at the rate of the bytes alone (before_bus) or of
    the bus with its overhead (whole), or only when they have left over the bus (with_bus).
    writes: data cross the bus after the column command (like_reads) or before the access requests a bank (bus_first).
    precharge_command: whether it waits for the command bus (on_bus) or not (free).

    Example:
        >>> from npexplore.machine import DramOptions
        >>> DramOptions(admission="together").gating
        'before_bus'
    """

    admission: Literal["in_order", "together"] = "in_order"
    gating: Literal["before_bus", "whole", "with_bus"] = "before_bus"
    writes: Literal["like_reads", "bus_first"] = "like_reads"
    precharge_command: Literal["free", "on_bus"] = "free"

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            one_of(f"DRAM option {name}", getattr(self, name), choices)


CHOICES = {name: get_args(kind) for name, kind in get_type_hints(DramOptions).items()}


class Dram(Resource, kind="dram"):
    """One channel of DRAM with `banks`, a data bus, and a controller that works on `slots` accesses at once.

    queue_limit: largest number of outstanding requests; further ones wait before they enter (back pressure).
    queue_resume: when the limit is reached, no request enters until at most `queue_resume` are left (None: until one
    has left). bus_bits: width of the data bus (None: derived from the rate at two transfers a clock of the part).

    Example:
        >>> from npexplore.machine import Dram, DramTiming, dram_parts
        >>> part = DramTiming.of(dram_parts()["ddr_400"])
        >>> [server.name for server in Dram("dram", part, 4, 3.2e9, 8, 16).servers()][:2]
        ['dram.slots', 'dram.bank']
    """

    EXAMPLE = Example(
        {"timing": "ddr_400", "banks": 4, "bus_bytes_per_s": 3.2e9, "overhead_bytes": 0, "slots": 8},
        "read",
        {"bytes": 64, "bank": "random"},
        more={"queue_limit": 10, "options": {"gating": "whole"}},
    )
    VISITS = {"read": ("bytes", "bank"), "write": ("bytes", "bank")}
    CHANCE = frozenset({"bank"})

    def __init__(
        self, name: str, timing: DramTiming, banks: int, bus_bytes_per_s: float, overhead_bytes: float, slots: int,
        quantum_bytes: int = 8, wide_bytes: int = 64, options: DramOptions | None = None,
        queue_limit: int | None = None, bus_bits: int | None = None, queue_resume: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(name)
        self.timing = timing
        self.bus_bits = None if bus_bits is None else count_of(f"{name}: bus_bits", bus_bits)
        self.banks = count_of(f"{name}: banks", banks)
        self.byte = time_of(f"{name}: time per byte", 1.0 / rate_of(f"{name}: bus bytes", bus_bytes_per_s))
        self.overhead = time_of(f"{name}: bus overhead", overhead_bytes * self.byte)
        self.slots = count_of(f"{name}: slots", slots)
        self.quantum = count_of(f"{name}: access quantum", quantum_bytes)
        self.wide = count_of(f"{name}: bytes of a wide command", wide_bytes, 0)
        self.options = options or DramOptions()
        self.queue_limit = None if queue_limit is None else count_of(f"{name}: queue limit", queue_limit)
        self.queue_resume = None if queue_resume is None else count_of(f"{name}: queue resume", queue_resume, least=0)
        if self.queue_resume is not None and self.queue_resume >= (self.queue_limit or 0):
            raise ModelError(f"{name}: queue_resume must be below queue_limit {queue_limit}, got {queue_resume!r}")

    def servers(self) -> list[Server]:
        """Return controller slots, banks, command bus, I/O gating, data bus; with back pressure the queue and gate."""
        servers = [
            Server(f"{self.name}.slots", units=self.slots, role="limit"),
            Server(f"{self.name}.bank", members=self.banks),
            Server(f"{self.name}.command"),
            Server(f"{self.name}.gating"),
            Server(f"{self.name}.bus"),
        ]
        if self.queue_limit is not None:
            drains = "admits no access while it drains, so that waits depend on its history"
            why = None if self.queue_resume is None else drains
            servers.append(Server(f"{self.name}.queue", units=self.queue_limit, role="limit", unsolvable=why))
        if self.queue_resume is not None:
            servers.append(Server(f"{self.name}.gate", role="hidden"))
        return servers

    def _drain(self, asm: Assembler, *_: object) -> None:
        """If the queue is full, wait until at most `queue_resume` requests are left; one request at a time is here."""
        assert self.queue_limit is not None
        assert self.queue_resume is not None
        queue, room = f"{self.name}.queue", Label()
        with asm.scope():
            asm.jump(room, asm.free(queue) > 0)
        asm.consume(queue, self.queue_limit - self.queue_resume)
        asm.put(queue, self.queue_limit - self.queue_resume)
        asm.place(room)

    def _enter(self, m: VisitRecorder) -> Holding | None:
        """Wait for a place among the outstanding requests, and take it."""
        if self.queue_limit is None:
            return None
        if self.queue_resume is None:
            return m.take("queue")
        gate = m.take("gate")
        m.contended(self._drain)
        request = m.take("queue")
        m.give(gate)
        return request

    def act(self, m: VisitRecorder, visit: str, v: Operands) -> None:
        """Record one access; the precharge runs concurrently and holds the bank to its end."""
        t, o, read = self.timing, self.options, visit == "read"
        early = not read and o.writes == "bus_first"
        size = ceildiv(v.bytes, self.quantum) * self.quantum
        moved = size * self.byte
        bus = moved + self.overhead

        def precharge() -> None:
            with m.fork(bank) as held:
                m.until(row if read else maximum(row, m.now() + t.t_wr))
                if o.precharge_command == "on_bus":
                    m.serve("command", t.t_ck)
                    m.wait(t.t_rp)
                else:
                    m.wait(t.t_ck + t.t_rp)
                m.give(held)

        request = self._enter(m)
        if o.admission == "together" and not early:
            bank, slot = m.take_all(("bank", v.bank), ("slots", 0))
        else:
            slot = m.take("slots")
            if early:
                m.serve("bus", bus)
            bank = m.take("bank", member=v.bank)
        if t.t_rfc:
            m.window(t.t_refi, t.t_rfc)
        m.serve("command", t.t_ck)
        row = m.moment(m.now() + t.t_ras)
        m.wait(t.t_rcd)
        m.serve("command", t.t_ck)
        m.wait(t.t_cl if read else t.t_wl)
        if o.gating == "with_bus" and not early:
            gating, wires = m.take("gating"), m.take("bus")
            m.wait(bus)
            m.give(wires, gating)
            precharge()
        else:
            m.serve("gating", moved if o.gating == "before_bus" else bus)
            precharge()
            if not early:
                m.serve("bus", bus)
        m.give(slot)
        if request is not None:
            m.give(request)
        m.count("bytes", size)
        m.count("accesses", simulated=False)
        m.count("narrow", where=size < self.wide, simulated=False)
