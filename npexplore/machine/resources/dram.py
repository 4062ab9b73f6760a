"""DDR SDRAM behind a controller, closed page: slot, bank, row command, column command, data, precharge by itself.

    read:      slot -> bank -> (refresh) -> row command -> tRCD -> column command -> tCL -> gating -> data bus -> leave
    write:     the same with tWL for tCL, or its data cross the bus before the bank is asked for (bus_first)
    precharge: not before row + tRAS nor (write) data + tWR -> command -> tRP -> bank free
    data bus:  overhead + bytes / (bytes per second), bytes rounded up to the access quantum

A bank is held from before its row command to the end of its precharge; the packet leaves when its data have passed. The
resource usage model of Wang (2005) as in the Petri net of the IXP2400 paper, Sec. 3.1. It has these rules and no other
(no tRRD, tFAW, turn-around); ddr_controller.py has all rules of a part.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args, get_type_hints

import numpy as np

from npexplore.errors import one_of
from npexplore.machine.assembler import Assembler
from npexplore.machine.assembler import Hold as Held
from npexplore.machine.expressions import Expression, Values, Variable, ceildiv, maximum
from npexplore.machine.resources.base import Hold, Resource, Server, Uses, count_of, known, rate_of, time_of
from npexplore.machine.resources.dram_timing import DramTiming


@dataclass(frozen=True)
class DramOptions:
    """What papers leave open about a controller.

    admission: an access takes a slot and then waits for its bank (in_order), or takes both or none (together).
    gating: the bank is free once the data are through the I/O gating at the pace of the bare bytes (before_bus) or of
    the bus with its overhead (whole), or only when they have left over the bus (with_bus).
    writes: data cross the bus after the column command (like_reads) or before the bank is asked for (bus_first).
    precharge_command: waits for the command bus (on_bus), or does not (free).
    """

    admission: Literal["in_order", "together"] = "in_order"
    gating: Literal["before_bus", "whole", "with_bus"] = "before_bus"
    writes: Literal["like_reads", "bus_first"] = "like_reads"
    precharge_command: Literal["free", "on_bus"] = "free"

    def __post_init__(self) -> None:
        for name, kind in get_type_hints(DramOptions).items():
            one_of(f"DRAM option {name}", getattr(self, name), get_args(kind))


class Dram(Resource):
    """One channel of DRAM with `banks`, a data bus, and a controller that works on `slots` accesses at once.

    queue_limit: at most so many requests are outstanding; further ones wait before they enter (back pressure).
    bus_bits: width of the data bus (None: as wide as the rate asks for at two transfers a clock of the part).
    """

    VISITS = {"read": ("bytes", "bank"), "write": ("bytes", "bank")}

    def __init__(
        self, name: str, timing: DramTiming, banks: int, bus_bytes_per_s: float, overhead_bytes: float, slots: int,
        quantum_bytes: int = 8, wide_bytes: int = 64, options: DramOptions | None = None,
        queue_limit: int | None = None, bus_bits: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(name)
        self.timing = timing
        self.bus_bits = None if bus_bits is None else count_of(f"{name}: bus_bits", bus_bits)
        self.banks = count_of(f"{name}: banks", banks)
        self.byte = time_of(f"{name}: time per byte", 1.0 / rate_of(f"{name}: bus bytes", bus_bytes_per_s))
        self.overhead = time_of(f"{name}: bus overhead", overhead_bytes * self.byte)
        self.slots = count_of(f"{name}: slots", slots)
        self.quantum = count_of(f"{name}: access quantum", quantum_bytes)
        self.wide = wide_bytes
        self.options = options or DramOptions()
        self.queue_limit = None if queue_limit is None else count_of(f"{name}: queue limit", queue_limit)

    def servers(self) -> list[Server]:
        """Controller slots, banks, command bus, I/O gating, data bus; with back pressure the queue in front."""
        inside = f"{self.name}.slots"
        gating: Literal["hidden", "queue"] = "hidden" if self.options.gating == "with_bus" else "queue"
        servers = [
            Server(inside, units=self.slots, role="limit", group=inside),
            Server(f"{self.name}.bank", members=self.banks, group=inside),
            Server(f"{self.name}.command", group=inside),
            Server(f"{self.name}.gating", role=gating, group=inside),
            Server(f"{self.name}.bus", group=inside),
        ]
        if self.queue_limit is not None:
            servers.append(Server(f"{self.name}.queue", units=self.queue_limit, role="hidden"))
        return servers

    def _early(self, method: str) -> bool:
        return method == "write" and self.options.writes == "bus_first"

    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """What one access that meets nobody occupies: slot, bank, commands, gating, bus."""
        t, name, apart = self.timing, self.name, self.options.gating != "with_bus" or self._early(method)
        moved = np.ceil(known(self, method, "bytes", values) / self.quantum) * self.quantum
        bus = self.overhead + moved * self.byte
        gating = moved * self.byte if self.options.gating == "before_bus" else bus
        column = 2 * t.t_ck + t.t_rcd + (t.t_cl if method == "read" else t.t_wl)
        through = column + (gating if apart else bus)
        open_for = np.maximum(through + (0.0 if method == "read" else t.t_wr), t.t_ck + t.t_ras)
        bank = open_for + t.t_ck + t.t_rp
        latency = through + bus if apart else through
        on_bus = 3 if self.options.precharge_command == "on_bus" else 2
        commands = np.broadcast_to(np.float64(on_bus * t.t_ck), np.shape(bank))
        nothing = np.zeros_like(bank)
        return Uses(
            latency,
            [
                Hold(f"{name}.slots", latency, nothing),
                Hold(f"{name}.bank", bank, bank - commands - (gating if apart else bus), member=values["bank"]),
                Hold(f"{name}.command", commands, visits=on_bus),
                Hold(f"{name}.gating", gating if apart else bus, gating if apart else nothing),
                Hold(f"{name}.bus", bus),
            ],
            counts={
                f"{name}.bytes": moved,
                f"{name}.accesses": np.ones_like(moved),
                f"{name}.narrow": np.float64(1) * (moved < self.wide),
            },
        )

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> None:
        """The access as engine operations; the bank's precharge is a forked token that takes the bank along."""
        t, name, bank, early = self.timing, self.name, operands["bank"], self._early(method)
        size = ceildiv(operands["bytes"], self.quantum)
        bytes_time = asm.ticks(size, self.quantum * self.byte)
        bus_time = bytes_time + asm.ticks(self.overhead)
        request = asm.take(f"{name}.queue") if self.queue_limit is not None else None
        if self.options.admission == "together" and not early:
            slot, held = asm.take_all([(f"{name}.slots", 0), (f"{name}.bank", bank)])
        else:
            slot = asm.take(f"{name}.slots")
            if early:
                asm.serve(f"{name}.bus", bus_time)
            held = asm.take(f"{name}.bank", bank)
        if t.t_rfc:
            asm.wait_window(round(t.t_refi / asm.tick), round(t.t_rfc / asm.tick))
        asm.serve(f"{name}.command", asm.ticks(t.t_ck))
        ready = Variable("precharge_from")
        asm.let(ready, asm.now() + asm.ticks(t.t_ras))
        asm.wait(asm.ticks(t.t_rcd))
        asm.serve(f"{name}.command", asm.ticks(t.t_ck))
        asm.wait(asm.ticks(t.t_cl if method == "read" else t.t_wl))
        if self.options.gating == "with_bus" and not early:
            gate, bus = asm.take(f"{name}.gating"), asm.take(f"{name}.bus")
            asm.wait(bus_time)
            asm.give(bus)
            asm.give(gate)
            self._precharge(method, asm, held, ready)
        else:
            asm.serve(f"{name}.gating", bytes_time if self.options.gating == "before_bus" else bus_time)
            self._precharge(method, asm, held, ready)
            if not early:
                asm.serve(f"{name}.bus", bus_time)
        asm.give(slot)
        if request is not None:
            asm.give(request)
        asm.count(f"{name}.bytes", size * self.quantum)

    def _precharge(self, method: str, asm: Assembler, held: Held, ready: Variable) -> None:
        t = self.timing
        with asm.fork(held) as bank:
            recovered: Expression = ready if method == "read" else maximum(ready, asm.now() + asm.ticks(t.t_wr))
            asm.wait_until(recovered)
            if self.options.precharge_command == "on_bus":
                asm.serve(f"{self.name}.command", asm.ticks(t.t_ck))
                asm.wait(asm.ticks(t.t_rp))
            else:
                asm.wait(asm.ticks(t.t_ck + t.t_rp))
            assert bank is not None
            asm.give(bank)
