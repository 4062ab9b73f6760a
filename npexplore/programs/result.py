"""The result of a program's run: one row a packet, packets by path, work by source line, contents of maps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import ebpf as k
from npexplore.packets.scan import Damage
from npexplore.programs import instructions as isa
from npexplore.programs.forwarding import ForwardingTables
from npexplore.programs.helpers import helper_name
from npexplore.programs.instructions import Instruction
from npexplore.programs.records import Program
from npexplore.records import by_content

if TYPE_CHECKING:
    import pandas as pd

VERDICTS = ("aborted", "drop", "pass", "tx", "redirect")  # enum xdp_action
REGIONS = ("packet", "stack", "context", "map")
COLUMNS = {
    "path": k.PATH, "instructions": k.INSTRUCTIONS, "branches_taken": k.TAKEN, "helper_calls": k.HELPERS,
    **{f"{region}_loads": k.LOADS + place for place, region in enumerate(REGIONS)},
    **{f"{region}_stores": k.STORES + place for place, region in enumerate(REGIONS) if region != "context"},
    "split_loads": k.SPLIT_LOADS, "packet_lines": k.LINES_OF_PACKET, "map_lines": k.LINES_OF_MAPS,
    "records": k.ROW_RECORDS, "record_bytes": k.ROW_RECORD_BYTES, "records_discarded": k.ROW_DISCARDED,
    "length_out": k.LENGTH, "metadata": k.METADATA, "redirect_to": k.SENT_TO,
}  # fmt: skip
CLASSES = ("alu", "multiply", "divide", "branch", "jump", "load", "store", "atomic", "constant", "call", "exit")


def verdict_name(number: int) -> str:
    """Return the name of a verdict; `fault` for a negative number, the number itself if the kernel has no name."""
    if number < 0:
        return "fault"
    return VERDICTS[number] if number < len(VERDICTS) else f"invalid {number}"


def instruction_class(one: Instruction) -> str:
    """Return the class of an instruction, one of CLASSES."""
    kind, code = one.opcode & 7, one.opcode & 0xF0
    if kind in (isa.ALU, isa.ALU64):
        return {0x20: "multiply", 0x30: "divide", 0x90: "divide"}.get(code, "alu")
    if kind in (isa.JMP, isa.JMP32):
        if one.opcode in (isa.JA, isa.JA32):
            return "jump"
        return "branch" if not one.is_call_or_exit else "exit" if one.opcode == isa.EXIT else "call"
    if one.opcode == isa.LDDW:
        return "constant"
    if kind == isa.LDX:
        return "load"
    return "atomic" if one.opcode & 0xE0 == isa.ATOMIC and kind == isa.STX else "store"


@dataclass(frozen=True, eq=False)
class Paths:
    """Counts for a packet of each path, shape (paths, instructions): visits; taken: jumps taken, calls not returning 0.

    called: the map of each call (-1: none); slots: the slot of each instruction in the program.
    """

    visits: NDArray[np.int32]
    taken: NDArray[np.int32]
    called: NDArray[np.int32]
    slots: list[int]


@by_content
@dataclass(frozen=True)
class ProgramRun:
    """The result of a run.

    rows: the kernel's counts, one row a packet; before, maps: contents of the maps before and after; packets: bytes
    after the program, if kept; damage: where and why reading the capture ended early; missing: bytes of each packet
    that were not captured; fib: the tables that `fib_lookup` reads.

    Example:
        >>> import npexplore as npx
        >>> run = npx.program("mov r0, 1\\nexit").run([bytes(64)] * 3)
        >>> run.verdicts
        {'drop': 3}
    """

    program: Program
    rows: NDArray[np.int64] = field(repr=False)
    work: Paths = field(repr=False)
    before: Mapping[str, Mapping[bytes, bytes]] = field(repr=False)
    maps: Mapping[str, Mapping[bytes, bytes]] = field(repr=False)
    packets: list[bytes] = field(repr=False)
    damage: Damage | None
    instruction_limit: int
    missing: NDArray[np.int64] = field(repr=False)
    fib: ForwardingTables | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def verdicts(self) -> dict[str, int]:
        """Packets by verdict."""
        numbers, counts = np.unique(self.rows[:, k.VERDICT], return_counts=True)
        return {verdict_name(int(number)): int(count) for number, count in zip(numbers, counts, strict=True)}

    @property
    def cut(self) -> int:
        """Packets cut by the capture's snap length: the program ran on their captured bytes only."""
        return int(np.count_nonzero(self.missing))

    def fault_of(self, packet: int) -> str | None:
        """Return the fault of a packet (reason, instruction, source line); None if there is none."""
        fault, slot, address = (
            int(self.rows[packet, column]) for column in (k.ROW_FAULT, k.FAULT_SLOT, k.ROW_FAULT_ADDRESS)
        )
        reason = {
            k.NO_FAULT: None,
            k.BAD_ACCESS: f"access outside packet, stack, context and map values at address {address:#x}",
            k.TOO_LONG: f"more than {self.instruction_limit:,} instructions",
            k.TOO_DEEP: f"more than {k.FRAMES} nested calls",
            k.BAD_HELPER: f"there is no helper {address}",
            k.BAD_MAP: f"{address:#x} is no map that this helper takes",
            k.OUT_OF_CODE: f"execution leaves the code at slot {address}",
            k.BAD_RECORD: f"{address:#x} is no reserved record of a ring buffer",
            k.BAD_FLAGS: f"flags {address:#x} of fib_lookup are not supported; supported: 0 and 4 (SKIP_NEIGH)",
        }[fault]
        return reason and f"{reason}: {self.program.place(slot)}"

    @property
    def faults(self) -> list[dict[str, Any]]:
        """Return each kind of fault: text, packets, the first packet with it."""
        counts: dict[str, list[int]] = {}
        for packet in np.flatnonzero(self.rows[:, k.ROW_FAULT]).tolist():
            counts.setdefault(self.fault_of(packet) or "", []).append(packet)
        return [{"fault": text, "packets": len(packets), "example": packets[0]} for text, packets in counts.items()]

    def to_frame(self) -> pd.DataFrame:
        """Return one row a packet, in the order of `capture.packets`: verdict, path, and counts of its work."""
        import pandas as pd

        numbers, codes = np.unique(self.rows[:, k.VERDICT], return_inverse=True)
        verdicts = pd.Categorical.from_codes(
            codes.ravel(), categories=[verdict_name(int(number)) for number in numbers]
        )
        columns = {name: self.rows[:, column] for name, column in COLUMNS.items()}
        return pd.DataFrame({"verdict": verdicts, **columns, "missing_bytes": self.missing})

    @property
    def paths(self) -> list[dict[str, Any]]:
        """Return the paths, most frequent first: packets, work of one packet, the first packet of the path."""
        numbers, first_packets, counts = np.unique(self.rows[:, k.PATH], return_index=True, return_counts=True)
        kinds = [instruction_class(self.program.code[slot]) for slot in self.work.slots]
        rows = []
        for number, example, packets in zip(numbers.tolist(), first_packets.tolist(), counts.tolist(), strict=True):
            if number >= len(self.work.visits):  # packets whose path did not fit into the table
                detail: dict[str, Any] = {"helpers": {}, "classes": {}}
            else:
                visits = self.work.visits[number]
                reached = np.flatnonzero(visits).tolist()
                classes = dict.fromkeys(CLASSES, 0)
                for slot in reached:
                    classes[kinds[slot]] += int(visits[slot])
                detail = {"helpers": self._helpers(visits, reached), "classes": {c: n for c, n in classes.items() if n}}
            row = self.rows[example]
            rows.append({
                "path": number, "packets": packets, "verdict": verdict_name(int(row[k.VERDICT])),
                "instructions": int(row[k.INSTRUCTIONS]), "branches_taken": int(row[k.TAKEN]), **detail,
                "example": example,
            })  # fmt: skip
        return sorted(rows, key=lambda path: (-path["packets"], path["path"]))

    def _helpers(self, visits: NDArray[np.int32], reached: list[int]) -> dict[str, int]:
        """Return the number of calls by helper, with the map and the bytes of its key and value."""
        calls: dict[str, int] = {}
        for slot in reached:
            instruction = self.program.code[self.work.slots[slot]]
            if instruction.opcode == isa.CALL and instruction.src == isa.HELPER:
                name, number = helper_name(instruction.imm), int(self.work.called[slot])
                if number >= 0:
                    table = self.program.maps[number]
                    name += f" {table.name} ({table.kind_name}, {table.key_bytes}+{table.value_bytes} bytes)"
                calls[name] = calls.get(name, 0) + int(visits[slot])
        return calls

    def totals(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the visits and taken jumps of each instruction (as in `Paths`), summed over all packets."""
        packets = np.bincount(self.rows[:, k.PATH], minlength=len(self.work.visits) + 1)[: len(self.work.visits)]
        return packets.astype(np.int64) @ self.work.visits, packets.astype(np.int64) @ self.work.taken

    def line_text(self, row: int) -> str:
        """Return the source line of an instruction of `Paths`; if no line is known, its number and text."""
        slot = self.work.slots[row]
        return str(self.program.line_at(slot) or f"{slot}: {isa.text(self.program.code[slot])}")

    def lines(self) -> list[dict[str, Any]]:
        """Return source lines (instructions, if no line is known) with their share of all instructions."""
        visits, _ = self.totals()
        counts: dict[str, int] = {}
        for row in np.flatnonzero(visits).tolist():
            text = self.line_text(row)
            counts[text] = counts.get(text, 0) + int(visits[row])
        total = max(1, sum(counts.values()))
        return [
            {"line": text, "instructions": count, "share": count / total}
            for text, count in sorted(counts.items(), key=lambda item: -item[1])
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the document of `npexplore program run --json`, without the files written."""
        steps = self.rows[:, k.INSTRUCTIONS]
        return {
            "program": self.program.name, "packets": len(self), "cut_packets": self.cut, "verdicts": self.verdicts,
            "faults": self.faults,
            "instructions": {"mean": float(steps.mean()) if len(self) else 0.0, "max": int(steps.max(initial=0))},
            "paths": self.paths,
        }  # fmt: skip
