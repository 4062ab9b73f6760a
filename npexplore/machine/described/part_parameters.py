"""Makes defaults of parts parameters of the machine: `RESOURCE.PARAMETER`.

    [resource.pcie]                          pcie.drain_bytes_per_s = 2.56e10, assumed: one channel of DDR4-3200
    type = "pcie_link"

So `--knobs`, elasticities, formulas and "behind these numbers" list these defaults, and `--set` changes them. The same
holds for the default values of a common name such as `banks` (described/named.py). A default whose source begins with
"assumed" is an assumption, any other a fact.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from npexplore.machine.described.named import NAMED, full_keys, kind_behind
from npexplore.machine.described.part_files import PARTS, shelf_part
from npexplore.machine.described.records import OperandTable, PartFile, Resources
from npexplore.machine.parameters import MachineFile, Parameter
from npexplore.machine.ranges import Value
from npexplore.units import unit_of

ASSUMED = "assumed"  # beginning of the source of a default that no document states


def part_parameters(
    tables: Resources, own: Mapping[str, PartFile], prefix: str = "", within: tuple[str, ...] = ()
) -> dict[str, Parameter]:
    """Return the default parameters of the parts among some resources, and of parts inside these.

    tables: resources as the file describes them. own: parts in the folder of the machine file, by type. prefix: of the
    parameters' names. within: types of the enclosing parts; building reports a part inside itself.
    """
    parameters: dict[str, Parameter] = {}
    for name, table in tables.items():
        type_name = str(table.get("type"))
        kind = kind_behind(type_name)
        part = _part(kind, own)
        stated = _stated(table, own) if type_name in NAMED or part is not None else set()
        if type_name in NAMED:
            from npexplore.machine.described.examples import usual_values

            source = f"{ASSUMED}: the value of `npexplore resource {type_name}`"
            for key, value in usual_values(type_name).items():
                if key not in stated and isinstance(value, int | float | str) and not isinstance(value, bool):
                    parameters[f"{prefix}{name}.{key}"] = _usual(part, kind, key, value, source)
        if kind in within or part is None:
            continue
        for key, operand in part.parameters.items():
            if not {key, *operand.also} & stated and operand.default is not None:
                parameters[f"{prefix}{name}.{key}"] = _parameter(operand, kind)
        parameters |= part_parameters(part.inner, own, f"{prefix}{name}.", (*within, kind))
    return parameters


def _part(kind: str, own: Mapping[str, PartFile]) -> PartFile | None:
    """Return the file of a part by its type; None for a type that is not a part."""
    return own[kind] if kind in own else shelf_part(kind) if kind in PARTS else None


def _stated(table: Mapping[str, Any], own: Mapping[str, PartFile]) -> set[str]:
    """Return the full names of the parameters that a table of a resource sets."""
    kind = kind_behind(str(table.get("type")))
    part = _part(kind, own)
    if part is not None:
        known = [name for key, operand in part.parameters.items() for name in (key, *operand.also)]
    else:
        from npexplore.machine.described.resources import parameter_keys
        from npexplore.machine.resources import KINDS

        known = parameter_keys(kind, None) if kind in KINDS else []
    return {*full_keys(table, known).values()}


def changed_table(before: Mapping[str, Any], table: Mapping[str, Any], own: Mapping[str, PartFile]) -> dict[str, Any]:
    """Return a resource's table changed by another; a key replaces one of the same meaning (`word`, `word_s`)."""
    kind = before.get("type")
    changed = _stated({**table, "type": kind}, own) - {"type"}
    unchanged = {key: value for key, value in before.items() if not changed & _stated({key: value, "type": kind}, own)}
    return {**unchanged, **table}


def _usual(part: PartFile | None, kind: str, key: str, value: Value, source: str) -> Parameter:
    """Return a default value of a common name as a parameter of the machine."""
    if part is not None:
        return _parameter(structs.replace(part.parameters[key], default=value, source=source), kind)
    least = 0 if isinstance(value, int | float) else None
    return Parameter(kind="assumption", value=value, about=f"{key} of a {kind}", source=source, min=least,
                     unit=unit_of(key) or "")  # fmt: skip


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
    """Return a machine file with the defaults of its parts as parameters; existing parameters of these names stay."""
    parameters = part_parameters(file.resource, file.part)
    resources = {name.partition(".")[0] for name in file.parameter if "." in name}
    stated = {
        f"{name}.{key}" for name in resources & file.resource.keys() for key in _stated(file.resource[name], file.part)
    }
    unset = {name: parameter for name, parameter in file.parameter.items() if name not in stated}
    if not parameters and len(unset) == len(file.parameter):
        return file
    return structs.replace(
        file, parameter={**unset, **{name: parameter for name, parameter in parameters.items() if name not in unset}}
    )


def from_part(file: MachineFile, name: str) -> bool:
    """Return whether a parameter is a default of a part."""
    return "." in name and name.partition(".")[0] in file.resource


def from_shelf(file: MachineFile, name: str) -> bool:
    """Return whether a parameter is a default of a part of the shelf."""
    kind = file.resource[name.partition(".")[0]].get("type") if from_part(file, name) else None
    return kind in PARTS or kind in NAMED
