"""Designs from Python code: a Machine, or a function that returns one and whose arguments become knobs.

    def design(engines: int = 16, clock_hz: float = 2e9, order: Literal["in", "out"] = "in") -> Machine:

A knob's unit comes from the suffix of its name (`clock_hz`), from its annotation (`Annotated[float, "GHz"]`) or from
the end of its line in the docstring ("clock: of a core, GHz"). A knob whose default is `quantity("322 MHz")` carries
its unit through all computations. `Annotated[int, range(1, 65)]`, `Annotated[float, (0.5, 4.0)]` and `Literal` set its
range or choices.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from npexplore.designs.base import Design
from npexplore.dimensions import Quantity, quantity
from npexplore.errors import InputError, NpexploreError
from npexplore.machine.machine import Machine
from npexplore.machine.parameters import MachineFile, Parameter, Parameters
from npexplore.units import SPOKEN, UNITS, unit_of

ARGUMENT = re.compile(r"\s*(\w+)(?:\s*\([^)]*\))?\s*:\s+(\S.*)")  # an argument's line in a docstring
UNIT_AT_END = re.compile(r"(?:,\s*|\()([^\s,()]+)\)?\.?$")  # a unit at the end of such a line
BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class BuiltBy:
    """Builds a machine by calling a function with its knobs' values, each converted to the type of its default."""

    function: Callable[..., Any]
    where: str

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path of the file: a function of a file that is not an imported module cannot be pickled."""
        path = Path(self.where)
        return (_build_of, (path,)) if path.suffix == ".py" else (BuiltBy, (self.function, self.where))

    def __call__(self, parameters: Parameters) -> Machine:
        """Return the machine; raises InputError if the function fails or does not return a Machine."""
        defaults = {name: p.default for name, p in inspect.signature(self.function).parameters.items()}
        values = {name: _as_default(value, defaults[name]) for name, value in parameters.items()}
        with failing_at(self.where, f"{self.function.__name__}(): "):
            machine = self.function(**values)
        if not isinstance(machine, Machine):
            got = type(machine).__name__
            raise InputError(f"{self.where}: {self.function.__name__}() with knobs must return a Machine, got {got}")
        return machine


def _whatever(machine: Machine, parameters: Parameters) -> Machine:
    """Return the machine, which does not depend on parameters."""
    return machine


def of_machine(machine: Machine, title: str = "") -> Design:
    """Return the design of a machine without knobs."""
    return Design(machine.name, Parameters(MachineFile(name=machine.name, title=title)), partial(_whatever, machine))


def of_function(function: Callable[..., Any], where: str | None = None) -> Design:
    """Return the design that a function describes. Without arguments, it is called once; arguments become knobs.

    where: the function's file, for messages. Raises InputError for arguments that cannot be knobs.
    """
    name = getattr(function, "__name__", type(function).__name__)
    location = where or f"{name}()"
    arguments = inspect.signature(function).parameters
    if not arguments:
        with failing_at(location, f"{name}(): "):
            described = function()
        return of_object(described, location)
    title, lines = _document(function)
    source = f"default of {name}()" + (f" in {Path(where).name}" if where else "")
    hints: dict[str, Any] = {}
    with suppress(Exception):  # ignore annotations with unknown names
        hints = get_type_hints(function, include_extras=True)
    knobs = {
        key: _knob(f"{location}: argument {key!r} of {name}()", argument, hints.get(key), lines.get(key, ""), source)
        for key, argument in arguments.items()
    }
    build = BuiltBy(function, location)
    machine = build(Parameters(MachineFile(name=name, title=title, parameter=knobs)))
    return Design(machine.name, Parameters(MachineFile(name=machine.name, title=title, parameter=knobs)), build)


def of_object(described: object, where: str) -> Design:
    """Return the design of an object of a user's code: a Design, a Machine, or a function that returns one."""
    if isinstance(described, Design):
        return described
    if isinstance(described, Machine):
        return of_machine(described, Path(where).name)
    if callable(described) and not isinstance(described, type):
        return of_function(described, where)
    raise InputError(f"{where}: design must be a function that returns a Design or a Machine, "
                     f"got {type(described).__name__}")  # fmt: skip


def of_file(path: Path) -> Design:
    """Return the design that a Python file defines as `design`; raises InputError if there is none."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.exists():
        raise InputError(f"{path}: no such Python file")
    module = importlib.util.module_from_spec(spec)
    with _imports_neighbours(path.parent), failing_at(str(path)):
        spec.loader.exec_module(module)
        if not hasattr(module, "design"):
            machines = [name for name, value in vars(module).items() if isinstance(value, Machine | Design)]
            machines += [name for name, value in vars(module).items() if _returns_machine(value)]
            hint = f"; call {' or '.join(machines)} so" if machines else ""
            raise InputError(f"{path}: design must be a function that returns a Design or a Machine, "
                             f"got nothing of that name{hint}")  # fmt: skip
        described = of_object(module.design, str(path))
    return (
        described
        if isinstance(described.build, BuiltBy)
        else replace(described, build=partial(_built, described.build, path))
    )


def _build_of(path: Path) -> Callable[[Parameters], Machine]:
    return of_file(path).build


def _returns_machine(value: object) -> bool:
    hint = getattr(value, "__annotations__", {}).get("return")
    return inspect.isfunction(value) and hint in (Machine, Design, "Machine", "Design")


def _built(build: Callable[[Parameters], Machine], path: Path, parameters: Parameters) -> Machine:
    """Build a machine with a user's function; raises InputError with file and line if it fails."""
    with failing_at(str(path)):
        return build(parameters)


@contextmanager
def failing_at(where: str, what: str = "") -> Iterator[None]:
    """Turn an exception of a user's code into an InputError with the file, and with the line if it is known."""
    try:
        yield
    except NpexploreError:
        raise
    except (Exception, SystemExit) as error:
        raise InputError(f"{where}: {what}{type(error).__name__}: {error}{_line(error, where)}") from error


@contextmanager
def _imports_neighbours(folder: Path) -> Iterator[None]:
    """Let a file import modules in its folder."""
    sys.path.insert(0, str(folder.resolve()))
    try:
        yield
    finally:
        sys.path.remove(str(folder.resolve()))


def _line(error: BaseException, path: str) -> str:
    """Return the line of a file that raised an error, as text; "" if it is unknown."""
    trace, line = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return f" (line {line})" if line else ""


def _document(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Return the first line of a function's docstring, and the description of each argument in it."""
    lines = (inspect.getdoc(function) or "").splitlines()
    arguments = [match for line in lines[1:] if (match := ARGUMENT.fullmatch(line))]
    return (lines[0] if lines else ""), {match[1]: match[2] for match in arguments}


def _as_default(value: Any, default: Any) -> Any:
    """Return a knob's value converted to the type of its default: bool, quantity in its unit, or unchanged."""
    if isinstance(default, Quantity):
        return quantity(value, default.named)
    return bool(value) if isinstance(default, bool) else value


def _knob(subject: str, argument: inspect.Parameter, hint: Any, about: str, source: str) -> Parameter:
    """Return an argument as a knob; raises InputError if it cannot be a knob."""
    default = argument.default
    if argument.kind in BY_POSITION:
        raise InputError(f"{subject} cannot be a knob: give each knob an argument of its own, with a default")
    if default is inspect.Parameter.empty:
        raise InputError(f"{subject} has no default; every knob needs one, as in {argument.name}=16")
    kind, notes = (get_args(hint)[0], get_args(hint)[1:]) if get_origin(hint) is Annotated else (hint, ())
    choices = list(get_args(kind)) if get_origin(kind) is Literal else []
    spans = [note for note in notes if isinstance(note, range | tuple)]
    texts = [note for note in notes if isinstance(note, str)]
    units = [unit for text in texts if (unit := SPOKEN.get(text, text)) in UNITS]
    about = about or next((text for text in texts if SPOKEN.get(text, text) not in UNITS), "")
    at_end = UNIT_AT_END.search(about)
    if at_end and SPOKEN.get(at_end[1], at_end[1]) in UNITS:
        units.append(SPOKEN.get(at_end[1], at_end[1]))
    unit = next(iter(units), unit_of(argument.name) or "")
    if isinstance(default, Quantity):
        default, unit = default.value, default.named
    if isinstance(default, bool):
        choices, default = [0, 1], int(default)
    if not isinstance(default, int | float) and not (isinstance(default, str) and default in choices):
        rule = "must be a number, or a text annotated with its choices: Literal['a', 'b']"
        raise InputError(f"{subject}: its default {rule}; got {default!r}")
    low = high = None
    for span in spans:
        low, high = float(span[0]), float(span[-1])
        choices = list(span) if isinstance(span, range) and span.step != 1 else choices
    value = float(default) if kind is float else default
    knob = Parameter(
        kind="knob", value=value, about=about or argument.name.replace("_", " "), source=source, unit=unit, min=low,
        max=high, choices=choices,
    )  # fmt: skip
    knob.check(argument.name, value)
    return knob
