"""Makes resources from tables: `type` names a kind, the other keys are the arguments of its class, checked by type.

`type` may also name a part (described/parts.py) or a common name such as `banks` (described/named.py). A value may be a
formula over parameters (a text that begins with `=`), or a number with its unit ("0.625 ns"). A plain number is in the
unit in its key (`word_s`); DRAM timings are in nanoseconds, as on the shelf. The unit may be left out of the key if
the value has one (`word = "10 ns"`). An argument that is a resource or a timing of models/parts is given by name, one
that is a small record as a table.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from functools import lru_cache
from typing import Any, Protocol, get_args, get_type_hints

import msgspec

from npexplore.dimensions import AS_WRITTEN, BARE, unit_named
from npexplore.errors import Faults, InputError, ModelError, NpexploreError, UnknownNameError, one_of, told_at
from npexplore.machine.described.examples import usual_values
from npexplore.machine.described.formula import Formulas
from npexplore.machine.described.named import NAMED, full_key, full_keys, kind_behind, paths_of
from npexplore.machine.described.records import PartFile, Resources
from npexplore.machine.parameters import Parameters
from npexplore.machine.resources import KINDS, DramTiming, Processor
from npexplore.machine.resources.base import Resource
from npexplore.machine.resources.dram_device import TIMES, DramDevice, dram_devices
from npexplore.machine.resources.dram_timing import NANOSECOND, dram_parts
from npexplore.machine.tree import Visit, visit
from npexplore.toml import in_words, literals, typed
from npexplore.units import SPOKEN, UNITS, converted, doubt, in_unit, unit_of

TYPE = "type"
HELD, HOLDABLE = "held", ("lock", "pool")  # the laboratory's key for the holding time, and kinds that can be held
OF_DISTRIBUTIONS = (".mean", ".means", ".low", ".high", ".values")  # keys of a distribution that are times
ALONE = re.compile(r"\s*=\s*p\.(\w+)\s*")  # a formula that is a single parameter
CLOCK_NS, RULE_NS = (0.01, 1e3, 1.0), (0.01, 1e5, 20.0)  # (least, most, usual) times of a DRAM part, ns


def number_of(value: Any, formulas: Formulas, place: str, own_unit: str = "") -> Any:
    """Return the number of a value in a table, with formulas evaluated, in `own_unit` or the unit of its key.

    place: a description that ends with the key, for messages. Raises InputError for a formula of another dimension.
    """
    own_unit = SPOKEN.get(own_unit, own_unit)
    unit = own_unit if own_unit in UNITS else unit_of(re.split(r"[ .]", place)[-1])
    single = ALONE.fullmatch(value) if isinstance(value, str) else None
    facts = formulas.names.get("p")
    known = facts.file.parameter if isinstance(facts, Parameters) else {}
    declared = known[single[1]].unit if single and single[1] in known else ""
    declared = SPOKEN.get(declared, declared)
    target = unit or BARE
    if single and not declared and unit is not None:
        target = AS_WRITTEN  # a single parameter without a declared unit is a plain number
    number = in_unit(place, resolve(value, formulas, place, target), unit) if not isinstance(value, list) else None
    if number is None:
        return [in_unit(place, element, unit) for element in resolve(value, formulas, place, target)]
    if (
        declared not in UNITS
        or not isinstance(number, int | float)
        or declared == (unit or BARE)
        or unit_named(declared)
    ):
        return number
    if unit is None:
        raise InputError(f"{place} must be a plain number, got {value!r} in {declared}")
    if UNITS[declared][0] != UNITS[unit][0]:
        raise InputError(f"{place} must be in {unit} or another unit of {UNITS[unit][0]}, got {value!r} in {declared}")
    return converted(number, declared, unit)


def resolve(value: Any, formulas: Formulas, place: str, unit: str | None = None) -> Any:
    """Return a value of a table with its formulas evaluated, also inside lists and tables, in a unit (None: none).

    Times of a distribution are in the unit of the table's key.
    """
    if isinstance(value, str) and value.lstrip().startswith("="):
        with told_at(place):
            return formulas.text(value.lstrip()[1:], unit)
    if isinstance(value, list):
        return [resolve(element, formulas, place, unit) for element in value]
    if isinstance(value, dict):
        time_units = {key[1:]: unit for key in OF_DISTRIBUTIONS} if "distribution" in value else {}
        units = {key: unit_of(key) or time_units.get(key) for key in value}
        return {key: resolve(inner, formulas, f"{place}.{key}", units[key]) for key, inner in value.items()}
    return value


class Parts(Protocol):
    """Interface of the parts that `type` may name (described/parts.py)."""

    @property
    def names(self) -> list[str]: ...

    @property
    def machine(self) -> Parameters | None: ...

    def file(self, kind: str) -> PartFile: ...

    def build(self, kind: str, name: str, values: Mapping[str, Any]) -> Resource: ...


class ResourceTables:
    """The resources of a machine file; a resource that another one needs is made first."""

    def __init__(self, tables: Resources, formulas: Formulas, parts: Parts, prefix: str = "") -> None:
        self.tables, self.formulas, self.parts, self.prefix = tables, formulas, parts, prefix
        self.by_name: dict[str, Resource] = {}
        self.begun: list[str] = []

    def all(self) -> dict[str, Resource]:
        """Return the resources by name, in the order of the file; raises InputError, or FaultsError for several."""
        faults = Faults()
        for name in self.tables:
            with faults.one():
                self.one(name)
        faults.tell()
        return {name: self.by_name[name] for name in self.tables}

    def one(self, name: str, asked_by: str = "resource") -> Resource:
        """Return a resource by name."""
        one_of(asked_by, name, self.tables)
        if name not in self.by_name:
            if name in self.begun:
                raise InputError(f"resource {name!r} needs itself (by {' and '.join(self.begun)})")
            self.begun.append(name)
            try:
                self.by_name[name] = self._make(name, dict(self.tables[name]))
            finally:
                self.begun.remove(name)
        return self.by_name[name]

    def _make(self, name: str, table: dict[str, Any]) -> Resource:
        place, known = f"resource {name!r}", [*KINDS, *self.parts.names]
        if TYPE not in table:
            raise InputError(f"{place} needs a type: {', '.join(known)}")
        type_name = one_of(f"type of {place}", str(table.pop(TYPE)), [*known, *NAMED])
        kind = kind_behind(type_name)
        file = None if kind in KINDS else self.parts.file(kind)
        names = parameter_keys(kind, file)
        visits = KINDS[kind].VISITS if file is None else {n: (*v.operands, *v.optional) for n, v in file.visits.items()}
        for key, value in table.items():
            _check_operand(place, name, kind, key, value, names, visits)
        if type_name in NAMED:
            table = {**self._usual(type_name, self.prefix + name, full_keys(table, names).values()), **table}
        if type_name == "crossing" and isinstance(table["paths"], int | str):
            table["paths"] = paths_of(place, number_of(table["paths"], self.formulas, f"{place}: paths"))
        if file is not None:
            units = {n: operand.unit for key, operand in file.parameters.items() for n in (key, *operand.also)}
            values = {
                key: number_of(value, self.formulas, f"{place}: {key}", units.get(key, ""))
                for key, value in {_once(place, k, v, names, table): v for k, v in table.items()}.items()
            }
            with told_at(place):
                return self.parts.build(kind, self.prefix + name, values)
        resource: Resource = self._built(KINDS[kind], table, place, name=self.prefix + name)
        return resource

    def _usual(self, named: str, name: str, stated: Iterable[str]) -> dict[str, Any]:
        """Return the values that a table with a common name leaves out; the machine's parameters may change them."""
        machine, usual = self.parts.machine, usual_values(named)
        values = {key: value for key, value in usual.items() if key not in {*stated}}
        if machine is None:
            return values
        known = machine.file.parameter
        return {key: machine[f"{name}.{key}"] if f"{name}.{key}" in known else value for key, value in values.items()}

    def _built(self, kind: type[Any], table: Mapping[str, Any], place: str, **fixed: Any) -> Any:
        """Return an object of a class with the keys of a table as arguments; raises InputError, FaultsError."""
        hints = operands(kind, without=fixed)
        faults, arguments = Faults(), dict[str, Any]()
        for key, value in table.items():
            with faults.one():
                full = _once(place, key, value, hints, table)
                if full not in hints:
                    raise UnknownNameError(f"{place}: key", key, hints)
                arguments[full] = self._converted(value, hints[full][0], f"{place}: {full}")
        stated = {*full_keys(table, hints).values()}
        for key, (_, required) in hints.items():
            if required and key not in stated:
                with faults.one():
                    raise InputError(f"{place} needs {key!r}")
        faults.tell()
        try:
            return kind(**fixed, **arguments)
        except NpexploreError as error:
            message = str(error)
            raise InputError(message if message.startswith(str(fixed.get("name"))) else f"{place}: {message}") from None

    def _converted(self, value: Any, hint: Any, place: str) -> Any:
        value, unit = number_of(value, self.formulas, place), unit_of(place.rpartition(" ")[2])
        if isinstance(value, dict) and "distribution" in value:
            value = {key: _time_in(f"{place}.{key}", number, unit) for key, number in value.items()}
        if isinstance(value, int | float) and unit:
            doubt(place, value, unit)
        for part in get_args(hint) or (hint,):
            if part is DramDevice and isinstance(value, str | dict):
                if isinstance(value, dict):
                    return device_of(value, place)
                return dram_devices()[one_of(f"{place}: device", value, dram_devices())]
            if part is DramTiming and isinstance(value, str):
                return DramTiming.of(dram_parts()[one_of(f"{place}: part", value, dram_parts())])
            if part is Processor:
                resource = self.one(str(value), f"{place}: resource")
                if not isinstance(resource, Processor):
                    raise InputError(f"{place} must be a processor, got {value!r}")
                return resource
            if part is Visit:
                return self._visit(value, place)
            if is_dataclass(part) and isinstance(part, type):
                if not isinstance(value, dict):
                    raise InputError(f"{place} must be a table of {', '.join(operands(part))}, got {value!r}")
                return self._built(part, _in_seconds(value, place) if part is DramTiming else value, place)
        try:
            return typed(value, hint)
        except msgspec.ValidationError as error:
            rule = re.sub(r", got `\w+`", "", str(error))
            if rule.startswith("Invalid enum value"):
                rule = f"expected one of {', '.join(literals(hint))}"
            rule, _, inside = rule.partition(" - at `$")
            raise InputError(f"{place}{inside.rstrip('`')}: {in_words(rule)}, got {value!r}") from None

    def _visit(self, value: Any, place: str) -> Visit:
        if not isinstance(value, dict) or not isinstance(value.get("visit"), str):
            raise InputError(f'{place} must be a table {{ visit = "RESOURCE.VISIT", operands }}, got {value!r}')
        name, _, method = value["visit"].partition(".")
        resource = self.one(name, f"{place}: resource")
        return visit(resource, method, **{key: operand for key, operand in value.items() if key != "visit"})


def parameter_keys(kind: str, file: PartFile | None) -> list[str]:
    """Return the keys that a table of a kind, or of a part (with its file), can have besides `type`."""
    if file is None:
        return list(operands(KINDS[kind], without={"name": None}))
    return [name for key, operand in file.parameters.items() for name in (key, *operand.also)]


def _once(place: str, key: str, value: Any, known: Iterable[str], table: Mapping[str, Any]) -> str:
    """Return the parameter that a key of a table means; raises InputError if another key means the same one."""
    full = full_key(place, key, value, known)
    if full != key and full in table:
        raise InputError(f"{place}: {key!r} and {full!r} are one parameter; one of them must be left out")
    return full


def _check_operand(
    place: str, name: str, kind: str, key: str, value: Any, known: Iterable[str], visits: Mapping[str, Iterable[str]]
) -> None:
    """Raise InputError for a key that belongs into a step, although the laboratory accepts it with the resource."""
    if key in known:
        return
    visit_name = next((visit for visit, operands in visits.items() if key in operands), None)
    if visit_name is not None:
        step = f"{name}.{visit_name}({key}={value!r})"
        raise InputError(f'{place}: {key} belongs to a visit, not to the resource: in a pool, steps = ["{step}"]')
    if key == HELD and kind in HOLDABLE:
        raise InputError(f'{place}: how long it is held stands in a step: {{ hold = "{name}", steps = [...] }}')


LIKE = "like"  # key of a device table: the shelf device whose values it changes


def device_of(table: Mapping[str, Any], place: str) -> DramDevice:
    """Return a user's DRAM device from a table of all its values, or of `like` and the values that differ from it.

    Times are in nanoseconds, or texts with a unit. Raises InputError, or FaultsError for several faults.
    """
    faults, values = Faults(), dict(table)
    base = values.pop(LIKE, None)
    known = [field.name for field in msgspec.structs.fields(DramDevice)]
    with faults.one():
        if base is not None:
            shelf = dram_devices()[one_of(f"{place}: device", str(base), dram_devices())]
            values = {
                **msgspec.structs.asdict(shelf),
                "source": f"{shelf.source}; changed in the machine file",
                **values,
            }
    for key in table:
        with faults.one():
            one_of(f"{place}: key", key, [LIKE, *known])
            if key in TIMES or key == "t_ck":
                values[key] = in_unit(f"{place}: {key}", table[key], "ns")
                if isinstance(values[key], int | float) and values[key]:
                    doubt(f"{place}: {key}", values[key], "ns", CLOCK_NS if key == "t_ck" else RULE_NS)
    missing = [f.name for f in msgspec.structs.fields(DramDevice) if f.required and f.name not in values]
    with faults.one():
        if missing and base is None:
            raise InputError(f'{place} needs {", ".join(missing)}; or {LIKE} = "ddr5_4800", whose values it then has')
    faults.tell()
    try:
        return typed(values, DramDevice)
    except ModelError as error:
        raise InputError(f"{place}: {str(error).removeprefix('DRAM device: ')}") from None
    except msgspec.ValidationError as error:
        raise InputError(f"{place}: {in_words(str(error))}") from None


def _time_in(place: str, value: Any, unit: str | None) -> Any:
    """Return a number of a distribution, or a list of them; a text with a unit becomes a number in `unit`."""
    if isinstance(value, list):
        return [_time_in(place, number, unit) for number in value]
    value = in_unit(place, value, unit)
    if unit and place.endswith(OF_DISTRIBUTIONS) and isinstance(value, int | float):
        doubt(place, value, unit)
    return value


def _in_seconds(times: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return a table of DRAM timings, given in nanoseconds or with units, in seconds."""
    quantities = {key: in_unit(f"{place}: {key}", value, "ns") for key, value in times.items()}
    for key, value in quantities.items():
        if isinstance(value, int | float):
            doubt(f"{place}: {key}", value, "ns", CLOCK_NS if key == "t_ck" else RULE_NS)
    return {key: value * NANOSECOND if isinstance(value, int | float) else value for key, value in quantities.items()}


def operands(kind: Callable[..., Any], without: Mapping[str, Any] | None = None) -> dict[str, tuple[Any, bool]]:
    """Return the operands of a class: name -> (type, whether it must be given)."""
    return {name: operand for name, operand in _operands(kind).items() if name not in (without or {})}


@lru_cache(maxsize=256)
def _operands(kind: Callable[..., Any]) -> dict[str, tuple[Any, bool]]:
    hints = get_type_hints(kind if is_dataclass(kind) else kind.__init__)
    return {
        name: (hints[name], parameter.default is inspect.Parameter.empty)
        for name, parameter in inspect.signature(kind).parameters.items()
    }
