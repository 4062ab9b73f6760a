"""Costs of a program's events on a processor (models/processors/*.toml): nanoseconds per event and per path.

time of a path = sum over events of (times x ns)        beyond an empty program, whose cost is part of the machine
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from npexplore.errors import InputError
from npexplore.paths import input_content, named_file
from npexplore.programs.card_events import card_counter, card_events
from npexplore.programs.events import Events, count_events, events_by_line, events_of
from npexplore.programs.result import ProgramRun
from npexplore.toml import convert, parsed

FREE = ("helper.get_smp_processor_id", "helper.trace_printk")  # no cost: inlined, or not used in fast programs


class Cost(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The time of one event in ns; low and high: ends of its 95 % interval, if measured.

    Example:
        >>> from npexplore.programs import Cost
        >>> Cost(ns=2.4, source="measured").ns
        2.4
    """

    ns: float
    low: float | None = None
    high: float | None = None
    source: str = ""


class CostTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Costs of events on a processor; empty_ns: time of a program that returns at once, if measured.

    counts: the instructions counted: `ebpf`, or `microengine` instructions that the card's compiler generates.

    Example:
        >>> from npexplore.programs import read_costs
        >>> read_costs("x86_server").clock_mhz > 1000
        True
    """

    name: str
    title: str
    clock_mhz: float
    source: str
    empty_ns: float | None = None
    counts: Literal["ebpf", "microengine"] = "ebpf"
    event: dict[str, Cost]

    def price(self, events: Events) -> float:
        """Return the time of a packet with these events in ns; raises InputError for an event without a cost."""
        unknown = sorted(set(events) - set(self.event))
        if unknown:
            raise InputError(
                f"cost table {self.name!r} has no price of {unknown[0]!r}: measure it (npexplore program measure), or "
                f'add [event."{unknown[0]}"]; known: {", ".join(sorted(self.event))}'
            )
        return sum(times * self.event[name].ns for name, times in events.items())

    def cycles(self, events: Events) -> float:
        """Return the time of a packet with these events in cycles."""
        return self.price(events) * self.clock_mhz * 1e-3

    def events_of(self, run: ProgramRun) -> dict[int, Events]:
        """Return the events of a packet of each path, path -> event -> times, as this table counts them."""
        return card_events(run) if self.counts == "microengine" else events_of(run)

    def price_paths(self, run: ProgramRun) -> dict[int, float]:
        """Return the time in ns of a packet of each path of a run, beyond an empty program."""
        return {path: self.price(events) for path, events in self.events_of(run).items()}

    def price_lines(self, run: ProgramRun) -> dict[str, float]:
        """Return the mean time per packet in ns by source line; events without a known line are left out."""
        count = card_counter(run) if self.counts == "microengine" else partial(count_events, run)
        return {line: self.price(events) for line, events in events_by_line(run, count).items()}

    def parts(self, events: Events) -> Mapping[str, float]:
        """Return nanoseconds by event, largest first."""
        ns_by_event = {name: times * self.event[name].ns for name, times in events.items()}
        return dict(sorted(ns_by_event.items(), key=lambda item: -item[1]))


def read_costs(name: str | Path) -> CostTable:
    """Return a cost table: the name of one that npexplore includes, or the path of a file.

    Raises:
        InputError: the file is not a cost table, or has a negative cost.
        UnknownNameError: no table has this name.
    """
    path = named_file("cost table", name, "models", "processors")
    table: CostTable = convert(parsed(input_content(path), path), CostTable, path)
    for event, cost in table.event.items():
        if not 0 <= cost.ns < 1e9:
            raise InputError(f"{path.name}: cost of {event!r} must be 0 to 1e9 ns, got {cost.ns!r}")
    return table


def as_toml(table: CostTable) -> str:
    """Return a cost table as TOML, the text of its file."""
    head: dict[str, str | float] = {
        "name": table.name,
        "title": table.title,
        "clock_mhz": table.clock_mhz,
        "source": table.source,
    }
    lines = [f"{key} = {_value(value)}" for key, value in head.items()]
    lines += [] if table.empty_ns is None else [f"empty_ns = {table.empty_ns}"]
    lines += [] if table.counts == "ebpf" else [f'counts = "{table.counts}"']
    for name, cost in table.event.items():
        lines += ["", f'[event."{name}"]', f"ns = {cost.ns}"]
        lines += [
            f"{key} = {_value(value)}"
            for key, value in (("low", cost.low), ("high", cost.high), ("source", cost.source or None))
            if value is not None
        ]
    return "\n".join(lines) + "\n"


def _value(value: str | float) -> str:
    return json.dumps(value) if isinstance(value, str) else str(value)
