"""Parameters that parts leave at their defaults, as parameters of the machine: `RESOURCE.PARAMETER`.

    [resource.pcie]                          pcie.drain_bytes_per_s = 2.56e10, assumed: one channel of DDR4-3200
    type = "pcie_link"

So nothing that a shelf assumes is hidden: `--knobs`, elasticities, formulas and "behind these numbers" list them, and
`--set` changes them. A default whose source begins with "assumed" is an assumption, any other a fact.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from npexplore.machine.described.part_files import PARTS, shelf_part
from npexplore.machine.described.records import OperandTable, PartFile, Resources
from npexplore.machine.parameters import MachineFile, Parameter

ASSUMED = "assumed"  # how the source of a default begins that no document states


def part_parameters(
    tables: Resources, own: Mapping[str, PartFile], prefix: str = "", within: tuple[str, ...] = ()
) -> dict[str, Parameter]:
    """Return the parameters that parts among some resources, and parts inside these, leave at their defaults.

    tables: resources as the file describes them. own: parts beside the machine file, by type. prefix: of names.
    within: types of the parts that these resources are inside of; a part inside itself is told when it is built.
    """
    found: dict[str, Parameter] = {}
    for name, table in tables.items():
        kind = str(table.get("type"))
        if kind in within or (kind not in own and kind not in PARTS):
            continue
        part = own[kind] if kind in own else shelf_part(kind)
        for key, operand in part.parameters.items():
            if not {key, *operand.also} & table.keys() and operand.default is not None:
                found[f"{prefix}{name}.{key}"] = _parameter(operand, kind)
        found |= part_parameters(part.inner, own, f"{prefix}{name}.", (*within, kind))
    return found


def _parameter(operand: OperandTable, kind: str) -> Parameter:
    """Return the default of a part's parameter as a parameter of the machine."""
    value = operand.default
    assert value is not None
    if not operand.whole and not operand.choices and isinstance(value, int):
        value = float(value)
    return Parameter(
        kind="assumption" if operand.source.startswith(ASSUMED) else "fact",
        value=value, about=operand.about, source=f"{operand.source} ({kind})", unit=operand.unit,
        min=operand.min, max=operand.max, choices=operand.choices, advised=operand.advised,
    )  # fmt: skip


def with_part_parameters(file: MachineFile) -> MachineFile:
    """Return a machine file with what its parts leave at their defaults; its own parameters of these names stay."""
    found = part_parameters(file.resource, file.part)
    stated = {f"{name}.{key}" for name, table in file.resource.items() for key in table}
    own = {name: one for name, one in file.parameter.items() if name not in stated}
    if not found and len(own) == len(file.parameter):
        return file
    return structs.replace(file, parameter={**own, **{name: one for name, one in found.items() if name not in own}})


def from_part(file: MachineFile, name: str) -> bool:
    """Return whether a parameter is a default of a part."""
    return "." in name and name.partition(".")[0] in file.resource


def from_shelf(file: MachineFile, name: str) -> bool:
    """Return whether a parameter is a default of a part of the shelf."""
    return from_part(file, name) and file.resource[name.partition(".")[0]].get("type") in PARTS
