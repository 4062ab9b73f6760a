"""Builds a machine from its file: parameters, tables of resources, pools with their programs as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from npexplore.errors import Faults, InputError, one_of, told_at
from npexplore.machine.described.formula import Formulas
from npexplore.machine.described.named import NAMED
from npexplore.machine.described.parts import Part, Parts
from npexplore.machine.described.program import TextProgram
from npexplore.machine.described.records import PoolTable, ReceiveTable
from npexplore.machine.described.resources import ResourceTables, number_of
from npexplore.machine.described.steps import program_text
from npexplore.machine.machine import Machine, Pool, Start
from npexplore.machine.parameters import Parameters
from npexplore.machine.program import AnyColumns, Packet, Recorder
from npexplore.machine.resources.base import OperandValue, Resource
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.ticks import common_tick, periods
from npexplore.machine.workload import Workload

if TYPE_CHECKING:
    from npexplore.machine.caches import Caches
    from npexplore.machine.touching import Touched

CACHES, TOUCHED = "cpu_caches", ("entries", "entry_bytes", "moved_bytes")


def build(p: Parameters) -> Machine:
    """Return the machine that a file with pools describes; raises InputError with the place of each fault."""
    file, faults = p.file, Faults()
    numbers = _Numbers(Formulas({"p": p}))
    receive, counted, window = file.receive, file.counted, file.window
    options: dict[str, Any] = {}
    if counted is not None:
        with faults.one():
            options |= {"counted": counted.name, "cell_bytes": numbers.whole(counted.cell_bytes, "counted.cell_bytes")}
    if window is not None:
        with faults.one():
            options["window_s"] = numbers.of(window.seconds, "window.seconds")
            options["boot_s"] = numbers.of(window.boot_s, "window.boot_s")
    with faults.one():
        receive = receive or ReceiveTable()
        capacity_bytes = receive.capacity_bytes
        ingress = Ingress(
            receive.name, None if capacity_bytes is None else numbers.whole(capacity_bytes, "receive.capacity_bytes"),
            numbers.whole(receive.cell_bytes, "receive.cell_bytes"),
        )  # fmt: skip
    resources: dict[str, Resource] = {}
    tables = ResourceTables(file.resource, numbers.formulas, Parts(file.part, machine=p))
    with faults.one():
        resources = tables.all()
        if file.touching is not None:
            _touching(p, resources, numbers)
    pools = []
    for table in file.pool:
        if table.steps is not None and file.resource and not resources:
            continue  # its steps name resources that have faults
        with faults.one():
            pools.append(_pool(table, p, numbers, resources))
    if faults.by_text:
        known = {**tables.by_name, receive.name if receive else "receive": Ingress("receive")}
        _faults_of_programs(file.pool, p, known, file.resource.keys() - known.keys(), faults)
    faults.tell()
    tick = common_tick(periods(resources.values()))
    return Machine(file.name, pools, ingress, resources, facts=p, tick=tick, **options)


def touched(p: Parameters, load: Workload) -> Workload:
    """Return packets with columns of the lines that hit at each level of the machine's caches; raises InputError."""
    from npexplore.machine.touching import (
        PACKETS,
        columns,
    )  # imported here because it imports golden structures, which few machines need

    numbers = _Numbers(Formulas({"p": p}))
    resources = ResourceTables(p.file.resource, numbers.formulas, Parts(p.file.part, machine=p)).all()
    lines = columns(*_touching(p, resources, numbers))
    load = load.repeated(PACKETS)
    cache_columns = {name: np.resize(column, len(load.packet_bytes)) for name, column in lines.items()}
    return replace(load, columns={**load.columns, **cache_columns})


def _touching(
    p: Parameters, by_name: Mapping[str, Resource], numbers: _Numbers
) -> tuple[tuple[Touched, ...], Caches, int, float]:
    """Return the tables that packets access, the caches, the number of flows and their skew."""
    from npexplore.machine.caches import caches_of
    from npexplore.machine.touching import Touched

    table = p.file.touching
    assert table is not None
    part = by_name[one_of("resource with the caches of touching", table.caches, by_name)]
    if not isinstance(part, Part) or part.kind != CACHES:
        raise InputError(f"touching.caches must name a resource of type cpu_caches, got {table.caches!r}")
    tables = tuple(
        Touched(touch.what, *(numbers.whole(getattr(touch, key), f"touching.{touch.what}.{key}") for key in TOUCHED))
        for touch in table.touch
    )
    flows, skew = numbers.whole(table.flows, "touching.flows"), numbers.of(table.skew, "touching.skew")
    return tables, caches_of(part), flows, skew


def _pool(table: PoolTable, p: Parameters, numbers: _Numbers, resources: Mapping[str, Resource]) -> Pool:
    place = f"pool {table.name!r}"
    if (table.program is None) == (table.steps is None):
        raise InputError(f"{place} needs either a program or steps")
    with told_at(place):
        program = program_text(table.steps or [], resources, _operands(p)) if table.program is None else table.program
    return Pool(
        name=table.name,
        count=numbers.whole(table.count, f"{place}: count"),
        program=TextProgram(program, p, f"program of {place}"),
        home=table.home,
        gets=table.gets,
        priority=numbers.whole(table.priority, f"{place}: priority"),
        idle=table.idle,
        poll_cycles=numbers.of(table.poll_cycles, f"{place}: poll_cycles"),
        start=Start(table.start.how, numbers.of(table.start.seconds, f"{place}: start.seconds")),
    )


def _operands(p: Parameters) -> dict[str, Mapping[str, OperandValue]]:
    """Return, by resource, the default operands of common names such as `bus`."""
    types = {name: str(table.get("type")) for name, table in p.file.resource.items()}
    return {name: NAMED[kind].operands for name, kind in types.items() if kind in NAMED}


def _faults_of_programs(
    pools: Iterable[PoolTable], p: Parameters, known: Mapping[str, Resource], lost: Iterable[str], faults: Faults
) -> None:
    """Add the faults of programs to those of a file, without faults that only follow from resources in `lost`."""
    for table in pools:
        with faults.one():
            if table.program is not None:
                program = TextProgram(table.program, p, f"program of pool {table.name!r}")
                program.record(Recorder(known, p), {"p": p, "packet": Packet(AnyColumns())}, p.file.name, lost)


class _Numbers:
    """Evaluates numbers of a file, which may be formulas."""

    def __init__(self, formulas: Formulas) -> None:
        self.formulas = formulas

    def of(self, value: float | str, place: str) -> float:
        """Return a number, or the value of a formula; raises InputError for anything else."""
        number = number_of(value, self.formulas, place)
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise InputError(f"{place} must be a number, or a formula that begins with =, got {value!r}")
        return number

    def whole(self, value: float | str, place: str) -> int:
        """Return a whole number; raises InputError for anything else."""
        number = self.of(value, place)
        if number != int(number):
            raise InputError(f"{place} must be a whole number, got {number!r}")
        return int(number)
