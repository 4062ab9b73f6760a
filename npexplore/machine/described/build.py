"""A machine from its file alone: parameters, tables of resources, pools with their programs as text."""

from __future__ import annotations

from typing import Any

from npexplore.errors import InputError
from npexplore.machine.described.formula import Formulas
from npexplore.machine.described.parts import Parts
from npexplore.machine.described.program import TextProgram
from npexplore.machine.described.records import PoolTable
from npexplore.machine.described.resources import ResourceTables, resolve
from npexplore.machine.machine import Machine, Pool, Start
from npexplore.machine.parameters import Parameters
from npexplore.machine.resources.ingress import Ingress


def build(p: Parameters) -> Machine:
    """Return the machine that a file with pools describes; raises InputError with the place of a fault."""
    file = p.file
    if file.receive is None:
        raise InputError(f"{file.name}: a machine with pools needs a table [receive]")
    numbers = _Numbers(Formulas({"p": p}))
    receive, counted, window = file.receive, file.counted, file.window
    options: dict[str, Any] = {}
    if counted is not None:
        options |= {"counted": counted.name, "cell_bytes": numbers.whole(counted.cell_bytes, "counted.cell_bytes")}
    if window is not None:
        options["window_s"] = numbers.of(window.seconds, "window.seconds")
        options["boot_s"] = numbers.of(window.boot_s, "window.boot_s")
    ingress = Ingress(
        receive.name, numbers.whole(receive.capacity_bytes, "receive.capacity_bytes"),
        numbers.whole(receive.cell_bytes, "receive.cell_bytes"),
    )  # fmt: skip
    resources = ResourceTables(file.resource, numbers.formulas, Parts(file.part)).all()
    pools = [_pool(table, p, numbers) for table in file.pool]
    return Machine(file.name, pools, ingress, resources, facts=p, **options)


def _pool(table: PoolTable, p: Parameters, numbers: _Numbers) -> Pool:
    place = f"pool {table.name!r}"
    return Pool(
        name=table.name,
        count=numbers.whole(table.count, f"{place}: count"),
        program=TextProgram(table.program, p, f"program of {place}"),
        home=table.home,
        gets=table.gets,
        priority=numbers.whole(table.priority, f"{place}: priority"),
        idle=table.idle,
        poll_cycles=numbers.of(table.poll_cycles, f"{place}: poll_cycles"),
        start=Start(table.start.how, numbers.of(table.start.seconds, f"{place}: start.seconds")),
    )


class _Numbers:
    """Numbers of a file, some of them given by formulas."""

    def __init__(self, formulas: Formulas) -> None:
        self.formulas = formulas

    def of(self, value: float | str, place: str) -> float:
        """Return a number as it is or worked out; raises InputError for anything else."""
        number = resolve(value, self.formulas, place)
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise InputError(f"{place} must be a number, or a formula that begins with =, got {value!r}")
        return number

    def whole(self, value: float | str, place: str) -> int:
        """Return a whole number; raises InputError for anything else."""
        number = self.of(value, place)
        if number != int(number):
            raise InputError(f"{place} must be a whole number, got {number!r}")
        return int(number)
