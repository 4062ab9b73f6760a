"""Packets for a machine that brings its own: a capture or mix as near as the machine's knobs can come to it.

A machine with its own traffic takes no packets from outside, but most have a knob for their length: `packet_bytes`, or
a choice among mixes of lengths (`frames`). It is set to what comes nearest to the mean length. Where packets of the
load are always waiting, a machine that offers itself packets at a rate (`rate_mpps`) gets as many as it takes.
"""

from __future__ import annotations

from npexplore.designs import Design
from npexplore.errors import InputError
from npexplore.machine.workload import Workload

LENGTH, MIXES = "packet_bytes", "frames"  # knobs by which a design with its own workload takes lengths
RATE = "rate_mpps"  # and its knob for a rate, 0: as many as it takes


def equivalent(made: Design, load: Workload | None) -> tuple[Design, Workload | None, str | None]:
    """Return the design and workload that come nearest to a load, and what that is where it is not the load itself.

    Raises InputError for a machine that packets of no other length than its own reach.
    """
    if made.own is None or load is None:
        return made, load, None
    mean = load.mean_packet_bytes
    known = made.parameters.file.parameter
    if RATE in known and load.arrivals == "saturated":
        made = made.with_(**{RATE: 0})
    if LENGTH in known:
        low, high = known[LENGTH].min, known[LENGTH].max
        wanted = round(mean)
        length = wanted if low is None else max(wanted, int(low))
        length = length if high is None else min(length, int(high))
        why = "" if length == wanted else f", the nearest to the mean of {wanted}"
        return made.with_(**{LENGTH: length}), None, f"its own traffic, all packets of {length} bytes{why}"
    if MIXES in known and known[MIXES].choices:
        means = {choice: made.with_(**{MIXES: choice}).workload().mean_packet_bytes for choice in known[MIXES].choices}
        choice = min(means, key=lambda name: abs(means[name] - mean))
        told = f"{MIXES} {choice!r} with a mean of {means[choice]:.0f} bytes, the nearest to {mean:.0f}"
        return made.with_(**{MIXES: choice}), None, f"its own traffic, {told}"
    raise InputError(
        f"design {made.name} brings its own workload, and has no knob for lengths of packets ({LENGTH} or {MIXES})"
    )
