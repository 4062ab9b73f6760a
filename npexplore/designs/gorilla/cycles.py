"""Cycles of Gorilla's generated hardware, measured at its doors, as parameters of the described machine.

    cycles a packet = overhead + substeps x request + steps x edit + checks x check + words x word
      one thread:     + handover + waits x (cycles of the unit + port), port by where: an engine alone, or a processor

The trials (data/hardware/trials.csv, made by `python tests/reference/hardware_cycles.py`) are runs of other programs,
threads and delays; nothing inside an engine is looked at. What a packet passes follows from the step program. The
terms are the least squares of all trials, and `residual` is the most that a trial is off.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from npexplore.designs.gorilla.hardware import EngineFiles
from npexplore.designs.gorilla.hardware_cases import rated
from npexplore.designs.gorilla.lowered import WORD, window_of
from npexplore.designs.gorilla.processor import ProcessorFiles
from npexplore.designs.gorilla.traffic import lowered, router_tables
from npexplore.errors import InputError
from npexplore.machine.parameters import Parameters, Value
from npexplore.paths import share, table_rows

TABLE = ("data", "hardware", "trials.csv")
ENGINE, PROCESSOR = "engine", "processor"  # where: alone, or two clusters of one engine over the channels of memories
TERMS = ("overhead", "request", "edit", "check", "word", "handover", "unit", "port_engine", "port_processor")
ROUND, ROUNDS = 8, 3  # packets of each thread that are not looked at, and times as many that are
SCHEDULER = "ready_on_stall"


@dataclass(frozen=True)
class Trial:
    """A run: packets of a kind through an engine of a program, saturated; cycles of a packet of one engine."""

    kind: str
    program: str
    counting: bool
    where: str
    threads: int
    delay: int
    cycles: float = 0.0


@dataclass(frozen=True)
class Cycles:
    """Terms of the law by name, and the most cycles that a trial is off it."""

    terms: Mapping[str, float]
    residual: float


def trials_of(file: Path) -> tuple[Trial, ...]:
    """Return the trials of a table."""
    return tuple(
        Trial(row["kind"], row["program"], row["counting"] == "on", row["where"], int(row["threads"]),
              int(row["delay"]), float(row["cycles"]))
        for row in table_rows(file)
    )  # fmt: skip


@cache
def trials() -> tuple[Trial, ...]:
    """Return the recorded trials."""
    return trials_of(share(*TABLE))


def tried(p: Parameters, one: Trial, simulator: str = "iverilog") -> float:
    """Return the cycles that a packet of a trial takes in a fresh run, once the machine is full."""
    count = ROUND * (ROUNDS + 1) * one.threads
    tables, protocols = router_tables("deep", one.counting), one.program.split("+")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if one.where == ENGINE:
            engine = EngineFiles(tables, protocols, one.counting, one.threads, one.delay, SCHEDULER)
            engine.write(folder)
            runs = [
                engine.run_cycles(folder, rated(tables, [one.kind], n), simulator)
                for n in (count // (ROUNDS + 1), count)
            ]
            return (runs[1] - runs[0]) * (ROUNDS + 1) / (ROUNDS * count)
        knobs: dict[str, Value] = {
            "clusters": 2, "engines": 1, "threads": one.threads, "lanes": 1, "lookup_cycles": one.delay,
            "lookup_delay": 0, "flow_counting": "on" if one.counting else "off", "scheduler": SCHEDULER,
        }  # fmt: skip
        several = ProcessorFiles(p.with_(**knobs), tables, protocols)
        several.write(folder)
        command = several.build(folder, simulator)
        ran, _ = several.run(folder, command, rated(tables, [one.kind], 2 * count), quiet=1)
        left = sorted(packet.left for packet in ran)
        first = 2 * count // (ROUNDS + 1)
        return 2 * (left[-1] - left[first - 1]) / (2 * count - first)


def terms_of(p: Parameters, one: Trial) -> list[float]:
    """Return how often each term of the law is in a trial, in the order of `TERMS`."""
    knobs: dict[str, Value] = {"proto": one.kind, "flow_counting": "on" if one.counting else "off"}
    (path,) = lowered(p.with_(**knobs)).paths
    checks = sum(group.accelerator.startswith("integrity") for _, groups in path.waits for group in groups)
    waits = sum(not groups[0].accelerator.startswith("integrity") for _, groups in path.waits)
    alone = float(one.threads == 1)
    port = [alone * waits * float(one.where == where) for where in (ENGINE, PROCESSOR)]
    words = window_of(one.program.split("+")) // WORD
    return [1.0, len(path.steps), path.edits(False)[-1], checks, words, alone, alone * waits * one.delay, *port]


def law(p: Parameters, recorded: Sequence[Trial] | None = None) -> Cycles:
    """Return the terms that trials give (None: the recorded ones); raises InputError for too few different ones."""
    samples = trials() if recorded is None else recorded
    matrix = np.array([terms_of(p, one) for one in samples], float).reshape(len(samples), len(TERMS))
    measured = np.array([one.cycles for one in samples])
    terms, _, rank, _ = np.linalg.lstsq(matrix, measured, rcond=None)
    if rank < len(TERMS):
        raise InputError(f"{len(samples)} trials give {rank} of the {len(TERMS)} terms {', '.join(TERMS)}")
    cycles_by_term = {name: round(float(value), 6) + 0.0 for name, value in zip(TERMS, terms, strict=True)}
    return Cycles(cycles_by_term, float(np.abs(matrix @ terms - measured).max()))


def measured_knobs(p: Parameters) -> dict[str, Value]:
    """Return the knobs that give the described machine the cycles of the generated processor, none of them fitted.

    The generated hardware has no second clock, so that crossing is free.
    """
    cycles = law(p).terms
    return {
        "overhead_cycles": cycles["overhead"], "request_cycles": cycles["request"], "edit_cycles": cycles["edit"],
        "check_cycles": cycles["check"], "word_cycles": cycles["word"], "handover_cycles": cycles["handover"],
        "port_cycles": cycles["port_processor"], "edits": "step", "crossing": "free",
    }  # fmt: skip


def wanted() -> list[Trial]:
    """Return the trials to make: the kinds of packets by programs with many threads, with one, and in a processor."""
    kinds = [("ipv4", "ipv4", False), ("ipv4", "ipv4", True), ("ipv6", "ipv6", False)]
    kinds += [(f"mpls_{k}", "mpls", False) for k in (1, 2, 4)] + [("ipv4", "ipv4+mpls", False)]
    listed = [Trial(*one, ENGINE, 8, 12) for one in kinds]
    listed += [Trial(*one, ENGINE, 1, delay) for one in kinds if one[1] != "ipv4+mpls" for delay in (12, 24)]
    return [*listed, Trial("ipv4", "ipv4", False, PROCESSOR, 1, 12), Trial("ipv4", "ipv4", False, PROCESSOR, 1, 24)]
