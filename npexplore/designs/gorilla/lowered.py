"""Gorilla's router as expression graphs: its step program lowered for one router's tables.

Header checks become part of the step that calls them; lookups are answered through ports. The label table returns the
number of an entry; the entries themselves are constants of the engine. The frame that is sent is the window with the
header as the engine leaves it, followed by the rest of the frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from npexplore.designs.gorilla.steps.ipv4 import INTEGRITY
from npexplore.designs.gorilla.steps.ipv6 import INTEGRITY as INTEGRITY6
from npexplore.designs.gorilla.steps.mpls import DEEPEST
from npexplore.designs.gorilla.steps.router import LABELS, Box, engine_program, frame_fault
from npexplore.golden.ethernet import ETHERNET
from npexplore.golden.mpls.stack import ENTRY
from npexplore.golden.reasons import Reason, by_code
from npexplore.hardware.lowering import Inline, LoweredProgram, Outside, Unit, lower_program
from npexplore.hardware.packing import taken
from npexplore.hardware.shapes import Fixed, Octets, Shape, Whole, maybe

WORD, HEADER = 16, 60  # bytes: a word of the scratchpad, the longest IPv4 header
LONGEST = (1 << 17) - 1  # bytes of a frame: 65,535 below any Ethernet header fit
RESULTS = "sent", "reason", "left_to_control"


@dataclass(frozen=True)
class Verdict:
    """A frame's outcome: the (port, frame) that is sent, a drop reason, or left to the control processor."""

    sent: tuple[int, bytes] | None
    reason: Reason
    left_to_control: bool


def units(box: Box) -> Mapping[str, Unit]:
    """Return how hardware implements each accelerator of a router: within a step, or behind a port."""
    units_by_name: dict[str, Unit] = {"integrity2": Inline(partial(frame_fault, box.golden))}
    units_by_name |= {name: Inline(check) for name, check in {**INTEGRITY, **INTEGRITY6}.items()}
    units_by_name["lookup4"] = Outside(maybe(max(1, len(box.ipv4.hops) - 1)))
    if box.ipv6 is not None:
        units_by_name["lookup6"] = Outside(maybe(max(1, len(box.ipv6.hops) - 1)))
    units_by_name["flow_counter"] = Outside(Fixed(None))
    if box.labels is not None and box.labels.entries:
        entries = box.labels.entries
        units_by_name["label_table"] = Outside(maybe(max(1, len(entries) - 1)), entries)
    return units_by_name


def window_of(protocols: Sequence[str]) -> int:
    """Return the bytes of a frame that hardware reads, in whole words: link header, labels, longest IP header."""
    labels = ENTRY * DEEPEST if {"mpls", LABELS} & set(protocols) else 0
    return -(-(ETHERNET + labels + HEADER) // WORD) * WORD


def begins(box: Box, window: int) -> dict[str, Shape]:
    """Return the shapes of the values that the program starts with."""
    return {
        "port": Whole(0, len(box.golden.router.ports) - 1),
        "frame": Octets(window, (window, window), (0, LONGEST), True),
        "sent": Fixed(None), "reason": Whole(0, 0), "left_to_control": Whole(0, 0),
    }  # fmt: skip


def lowered_router(box: Box, protocols: Sequence[str] = ("ipv4",), counting: bool = False) -> LoweredProgram:
    """Return a router's program as graphs; raises ModelError for a program that cannot become hardware."""
    program = engine_program(box, protocols, counting)
    return lower_program(program, units(box), begins(box, window_of(protocols)), RESULTS)


def registers_of(program: LoweredProgram, port: int, frame: bytes) -> dict[str, int]:
    """Return the initial registers of a frame that arrives at a port."""
    window = _window(program)
    data = frame[:window] + bytes(max(0, window - len(frame)))
    return {"port": port, "frame.length": len(frame), **{f"frame.{k}": byte for k, byte in enumerate(data)}}


def _window(program: LoweredProgram) -> int:
    frame = program.shapes["frame"]
    assert isinstance(frame, Octets)
    return frame.window


def verdict(program: LoweredProgram, left: Mapping[str, int], frame: bytes) -> Verdict:
    """Return a frame's outcome from the final registers."""
    shapes = program.shapes
    sent = taken(shapes["sent"], left, "sent", frame[_window(program) :])
    reason, control = (taken(shapes[name], left, name) for name in RESULTS[1:])
    return Verdict(sent, by_code(reason), bool(control))
