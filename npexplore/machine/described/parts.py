"""Parts: kinds of resources composed in TOML of servers, of other kinds, and of visits as text (described/program.py).

A machine file uses a part like a built-in kind, with its parameters as keys: `type = "pcie_link"`. For solvers it is an
ordinary resource: its visits are recorded from their lines with the operations of machine/visits.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from keyword import iskeyword
from typing import Any

from npexplore.errors import InputError, ModelError, NpexploreError, UnknownNameError, one_of
from npexplore.machine.described.formula import Formulas
from npexplore.machine.described.part_files import OWN, PARTS, own_names, shelf_part
from npexplore.machine.described.program import VISIT_CALLS, Lines
from npexplore.machine.described.records import OperandTable, PartFile
from npexplore.machine.described.resources import ResourceTables, resolve
from npexplore.machine.parameters import Parameters
from npexplore.machine.ranges import Value, checked
from npexplore.machine.resources.base import Resource, Server, count_of, kept_visits
from npexplore.machine.tree import Body, Step, Units, bodies
from npexplore.machine.tree import Visit as VisitStep
from npexplore.machine.visits import Operands, VisitRecorder, recorded
from npexplore.units import unit_of

ACROSS = (
    "pool",
    "lock",
    "queue",
    "scheduled_queue",
    "policer",
    "reorder",
    "balancer",
)  # kinds whose visits belong to the program, not to a part


class Given:
    """`p` of a part: its parameters and computed values, by name; calls `on_read` with each parameter that is read."""

    def __init__(self, subject: str, units: Mapping[str, str], on_read: Callable[[str], None]) -> None:
        self._subject, self._units, self._on_read = subject, units, on_read
        self._numbers: dict[str, Value] = {}
        self._needs: dict[str, set[str]] = {}  # by name, the parameters from which it is computed
        self._reads: set[str] | None = None  # parameters read by the formula under evaluation (None: there is none)

    @property
    def numbers(self) -> Mapping[str, Value]:
        """All parameters and values; they do not count as read."""
        return self._numbers

    def _set(self, name: str, value: Value, needs: set[str]) -> None:
        """Set the value of a name, which was computed from the parameters in `needs`."""
        self._numbers[name], self._needs[name] = value, needs

    def _unit_of(self, name: str) -> str | None:
        """Return the unit of a parameter; the result of a formula has none."""
        return (self._units[name] or unit_of(name)) if name in self._units else None

    def __getattr__(self, name: str) -> Value:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._numbers:
            raise UnknownNameError(self._subject, name, self._numbers)
        if self._reads is not None:
            self._reads |= self._needs[name]
        else:
            for parameter in self._needs[name]:
                self._on_read(parameter)
        return self._numbers[name]


class Parts:
    """The parts that `type` may name: those in the folder of a machine file, and the shelf.

    within: types of the parts under construction. machine: the parameters of the machine, which include the defaults of
    its parts (described/part_parameters.py); None outside a machine file.
    """

    def __init__(
        self, own: Mapping[str, PartFile] | None = None, within: tuple[str, ...] = (), machine: Parameters | None = None
    ) -> None:
        self.own, self.within, self.machine = dict(own or {}), within, machine

    @property
    def names(self) -> list[str]:
        """The known types."""
        return [*PARTS, *self.own]

    def build(self, kind: str, name: str, values: Mapping[str, Any]) -> Part:
        """Return a part by its type; raises InputError."""
        if kind in self.within:
            raise InputError(f"part {kind!r} needs itself (by {' and '.join(self.within)})")
        file = self.file(kind)
        return Part(name, kind, file, own_names(file, values), Parts(self.own, (*self.within, kind), self.machine))

    def file(self, kind: str) -> PartFile:
        """Return the file of a part by its type."""
        return self.own[kind] if kind in self.own else shelf_part(kind)


def part(kind: str, name: str, **values: Value) -> Part:
    """Return a part of the shelf under a name, with its parameters; raises UnknownNameError, InputError.

    kind: the part's name in models/parts. name: the resource's name in the machine. values: of the part's
    parameters.
    """
    return Parts().build(kind, name, values)


def _read_default(machine: Parameters | None, defaults: Mapping[str, str], key: str) -> None:
    """Count the machine's parameter for a default of a part as read."""
    if machine is not None and defaults.get(key) in machine.file.parameter:
        machine[defaults[key]]


class Part(Resource):
    """A resource of a kind that a file describes; raises InputError for faults of the file when it is made."""

    VISITS: Mapping[str, tuple[str, ...]] = {}  # type: ignore[misc]
    SECTIONS: Mapping[str, str] = {}  # type: ignore[misc]
    OPTIONAL: Mapping[str, float] = {}  # type: ignore[misc]
    CHANCE: frozenset[str] = frozenset()  # type: ignore[misc]

    def __init__(self, name: str, kind: str, file: PartFile, values: Mapping[str, Any], parts: Parts) -> None:
        super().__init__(name)
        self.kind, self.file = kind, kind if kind.endswith(OWN) else f"{kind}{OWN}"
        units = {key: table.unit for key, table in file.parameters.items()}
        for key in values:
            if key not in file.parameters:
                aliases = [alias for table in file.parameters.values() for alias in table.also]
                raise UnknownNameError(f"parameter of {self.file}", key, [*file.parameters, *aliases])
        machine = parts.machine
        known = {} if machine is None else machine.file.parameter
        self.defaults = {key: f"{name}.{key}" for key in file.parameters if key not in values}
        self.parameters = Given(f"parameter of {self.file}", units, partial(_read_default, machine, self.defaults))
        if machine is not None:
            values = {
                **{key: machine.present(parameter) for key, parameter in self.defaults.items() if parameter in known},
                **values,
            }
        for key, table in file.parameters.items():
            self.parameters._set(key, self._parameter(key, table, values), {key})
        try:
            _check_names(file)
            self._compose(file, parts)
            inside = (resource.shared_visits for resource in self.inner)
            shared = kept_visits(Part, name, file, *self.parameters.numbers.items(), *inside)
            if not shared.needs:
                needs = self._needed()
                shared.recorded.update(self.shared_visits.recorded)
                shared.needs.update(needs)
            self.shared_visits = shared
            self.parameters._reads = None
        except NpexploreError as error:
            text = str(error)
            raise InputError(text if text.startswith(f"{self.file}: ") else f"{self.file}: {text}") from None

    def _parameter(self, key: str, table: OperandTable, values: Mapping[str, Any]) -> Value:
        value = values.get(key, table.default)
        if value is None:
            raise InputError(f"{self.file} needs the parameter {key!r}: {table.about}")
        subject = f"{self.file}: parameter {key!r}"
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise InputError(f"{subject} must be a number or a word, got {value!r}")
        return checked(subject, value, table.whole, table.min, table.max, table.choices, table.unit)

    def _compose(self, file: PartFile, parts: Parts) -> None:
        formulas = Formulas({"p": self.parameters})

        def number(value: Any, place: str) -> Any:
            result = resolve(value, formulas, place, unit_of(place.split()[-1].strip("'")))
            if isinstance(result, bool) or not isinstance(result, int | float):
                raise InputError(f"{place} must be a number, or a formula that begins with =, got {result!r}")
            return result

        for key, value in file.values.items():
            needs = set[str]()
            self.parameters._reads = needs
            self.parameters._set(key, number(value, f"value {key!r}"), needs)
        self.parameters._reads = set()  # a rule only checks; its parameters do not count as read
        for rule in file.rules:
            low, high = (number(f"= {text}", f"rule {text!r}") for text in rule.at_most)
            if low > high:
                small, large = rule.at_most
                bound = large if large == f"{high:.10g}" else f"{large}, which is {high:.10g}"
                raise InputError(f"{small} must be at most {bound}, got {low:.10g}: {rule.about}")
        self.parameters._reads = None
        self._servers = [
            Server(
                f"{self.name}.{key}",
                count_of(f"server {key!r}: members", number(table.members, f"server {key!r}: members")),
                count_of(f"server {key!r}: units", number(table.units, f"server {key!r}: units")),
                table.discipline,
                table.role,
            )
            for key, table in file.servers.items()
        ]
        for key, inside in file.inner.items():
            if inside.get("type") in ACROSS:
                raise InputError(f"inner {key!r}: a {inside['type']} belongs to programs and cannot be inside a part")
        self.inner = tuple(ResourceTables(file.inner, formulas, parts, f"{self.name}.").all().values())
        for resource in self.inner:
            if resource.numbered:
                raise InputError(f"inner {resource.name!r} asks for the numbers of threads and cannot be inside a part")
        self._visits(file, number)

    def _visits(self, file: PartFile, number: Any) -> None:
        self.VISITS = {key: (*visit.operands, *visit.optional) for key, visit in file.visits.items()}
        self.OPTIONAL, chance = {}, set[str]()
        for key, visit in file.visits.items():
            for operand, value in visit.optional.items():
                default = number(value, f"visit {key!r}: {operand}")
                if self.OPTIONAL.get(operand, default) != default or any(
                    operand in later.operands for later in file.visits.values()
                ):
                    raise InputError(f"visit {key!r}: operand {operand!r} is another thing in another visit")
                self.OPTIONAL = {**self.OPTIONAL, operand: default}
            chance.update(one_of(f"operand of visit {key!r}", operand, self.VISITS[key]) for operand in visit.chance)
        self.CHANCE = frozenset(chance)
        self.SECTIONS = {
            key: one_of(f"visit that closes {key!r}", visit.closed_by, file.visits)
            for key, visit in file.visits.items()
            if visit.closed_by is not None
        }
        self.lines = {key: Lines(visit.program, f"visit {key!r}", VISIT_CALLS) for key, visit in file.visits.items()}

    def _needed(self) -> dict[str, set[str]]:
        """Return the parameters that each visit needs.

        Each visit is recorded twice: with all operands, and with the required ones only. Raises ModelError if a server
        is opened and never closed, or closed and never opened.
        """
        opened, closed = dict[str, str](), dict[str, str]()
        needs = dict[str, set[str]]()
        for key, operands in self.VISITS.items():
            needs[key] = self.parameters._reads = set[str]()
            for names in (operands, [name for name in operands if name not in self.OPTIONAL]):
                for step in _steps(recorded(self, key, names).body):
                    if isinstance(step, Units):
                        (closed if step.give_back else opened).setdefault(step.server.name, key)
                    elif isinstance(step, VisitStep):
                        _check_inside(step, key)
        for users, partners, verbs in ((opened, closed, ("opens", "closes")), (closed, opened, ("closes", "opens"))):
            for server in users.keys() - partners.keys():
                raise ModelError(f"visit {users[server]!r} {verbs[0]} {server!r}, and no visit {verbs[1]} it")
        return needs

    def on_visit(self, visit: str) -> None:
        """Count the parameters that a visit needs as read when a program records the visit."""
        for parameter in self.shared_visits.needs.get(visit, ()):
            self.parameters._on_read(parameter)

    def servers(self) -> list[Server]:
        """Return its own servers, and those of the resources inside."""
        return [*self._servers, *(server for resource in self.inner for server in resource.servers())]

    def homes(self) -> list[str]:
        """Return the homes of the resources inside."""
        return [name for resource in self.inner for name in resource.homes()]

    def act(self, m: VisitRecorder, visit: str, v: Operands) -> None:
        """Record the lines of the visit."""
        self.lines[visit].record(m, {"p": self.parameters, "v": v}, self.file)


def _check_names(file: PartFile) -> None:
    """Raise InputError for a name that program lines cannot use, or that has two meanings."""
    operands = {name for visit in file.visits.values() for name in (*visit.operands, *visit.optional)}
    for name in (*file.parameters, *file.values, *file.servers, *file.inner, *file.visits, *operands):
        if not name.isidentifier() or name.startswith("_") or iskeyword(name):
            raise InputError(f"{name!r} is not a name (letters, digits, _; a letter first)")
    for what, table, other_table in (("value", file.values, "parameters"), ("resource inside", file.inner, "servers")):
        for name in table:
            if name in getattr(file, other_table):
                raise InputError(f"{what} {name!r} has a name that stands in {other_table} too")


def _check_inside(step: VisitStep, key: str) -> None:
    """Raise ModelError for a visit of a resource inside that ends the packet or holds units across visits."""
    resource, place = step.resource, f"visit {key!r}: {step.resource.name}.{step.method}"
    if resource.ends(step.method) != "never":
        raise ModelError(f"{place} may end the packet, and cannot be inside a part")
    inside = recorded(resource, step.method, step.operands).body if isinstance(resource, Part) else []
    if any(isinstance(inner, Units) for inner in _steps(inside)):
        raise ModelError(f"{place} takes or gives for another visit, and cannot be inside a part")


def _steps(body: Body) -> Iterator[Step]:
    """Yield all steps of a recorded body, including nested ones."""
    for step in body:
        yield step
        for inner in bodies(step):
            yield from _steps(inner)
