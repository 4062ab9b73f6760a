"""Identifies everything that a row's numbers depend on by two short hashes.

model    the description: the machine file with its values, the Python files that define what a packet does (the
         design's files and, recursively, their imports from npexplore.designs, npexplore.golden or their own folder),
         and the files of models/ that a machine may read
version  the solvers: the release and a hash of the sources in SOLVING

A function without a file (in a notebook) is identified by its code, and the plain values and functions that it uses.
"""

from __future__ import annotations

import ast
import inspect
import marshal
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import cache, lru_cache, partial
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from npexplore import __version__, syntax
from npexplore.designs import Design
from npexplore.designs.python_machines import BuiltBy
from npexplore.designs.varied import Arriving, ByPackets
from npexplore.machine.machine import Machine
from npexplore.machine.parameters import described
from npexplore.paths import PACKAGE, share

DESCRIBING = ("designs", "golden")  # subpackages whose imports are followed
SOLVING = ("rows", "machine", "engine", "solve", "_kernels")
NOT_READ = ("machines", "mixes")  # folders of models/ whose contents are in a row's parameters and packets
PLAIN = (str, bytes, int, float, tuple, type(None))


@cache
def code_version() -> str:
    """Return the release with a hash of the solvers' sources, such as `0.1.0+9c1e62d4`."""
    digest = blake2b(digest_size=4)
    for folder in SOLVING:
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            digest.update(f"\0{path.relative_to(PACKAGE).as_posix()}\0".encode())
            digest.update(path.read_bytes())
    return f"{__version__}+{digest.hexdigest()}"


def model_key(design: Design) -> str:
    """Return the hash of a design's description with its values (16 hexadecimal digits)."""
    digest = blake2b(described(design.parameters.file), digest_size=8)
    digest.update(repr(sorted(design.parameters.changed().items())).encode())
    functions = [getattr(design, field.name) for field in fields(design)]
    digest.update(_programs(*(function for function in functions if callable(function))))
    if design.program is not None:
        digest.update(design.program.identity)
    return digest.hexdigest()


@lru_cache(maxsize=256)
def _programs(*functions: Callable[..., Any]) -> bytes:
    """Return the hash of all files and code without a file that functions use, and of models/."""
    digest = blake2b(digest_size=16)
    files: set[Path] = set()
    for part in _parts(functions, set()):
        if isinstance(part, Path):
            files.add(part.resolve())
        else:
            digest.update(part)
    followed: set[Path] = set()
    while files - followed:
        for path in files - followed:
            followed.add(path)
            files.update(_imported(path))
    for path in sorted(files):
        name = path.relative_to(PACKAGE) if path.is_relative_to(PACKAGE) else Path(path.name)
        digest.update(f"\0{name.as_posix()}\0".encode() + path.read_bytes())
    return digest.digest() + _models()


def _parts(thing: Any, seen: set[int]) -> Iterator[Path | bytes]:
    """Yield the files that define an object, and its code and values without a file as bytes."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, Path):
        if thing.suffix == ".py" and thing.is_file():
            yield thing
    elif isinstance(thing, tuple | list):
        for item in thing:
            yield from _parts(item, seen)
    elif isinstance(thing, partial):
        yield from _parts((thing.func, *thing.args, *thing.keywords.values()), seen)
    elif isinstance(thing, Machine):
        yield from _parts([pool.program for pool in thing.pools], seen)
        yield from _parts([type(resource) for resource in thing.resources.values()], seen)
        yield repr([(pool.name, pool.count) for pool in thing.pools]).encode()
        for resource in thing.resources.values():
            args, named = resource._arguments
            texts = [repr(argument) for argument in (*args, *sorted(named.items()))]
            yield "\0".join(text for text in texts if " at 0x" not in text).encode()
    elif isinstance(thing, Arriving | ByPackets | BuiltBy):
        yield type(thing).__name__.encode()
        yield from _parts(thing.function, seen)
    elif isinstance(thing, FunctionType):
        yield from _function(thing, seen)
    elif callable(thing):
        yield from _file(thing if inspect.ismethod(thing) or isinstance(thing, type) else type(thing))
        yield from _parts(getattr(thing, "__self__", None), seen)


def _function(function: FunctionType, seen: set[int]) -> Iterator[Path | bytes]:
    """Yield a function's file or code, and the contents of its closure."""
    contents = list(_file(function))
    yield from contents
    if not contents:
        names = _names(function.__code__)
        yield marshal.dumps(_bare(function.__code__))
        yield from _values([(name, function.__globals__.get(name)) for name in sorted(names)], seen)
    cells = [cell.cell_contents for cell in function.__closure__ or () if cell != type(cell)()]
    yield from _values(list(zip(function.__code__.co_freevars, cells, strict=False)), seen)


def _values(named: list[tuple[str, Any]], seen: set[int]) -> Iterator[Path | bytes]:
    for name, value in named:
        if isinstance(value, PLAIN) and not isinstance(value, Path):
            yield f"\0{name}={value!r}".encode()
        elif isinstance(value, FunctionType | partial | Machine):
            yield from _parts(value, seen)


def _file(thing: Any) -> Iterator[Path]:
    try:
        path = Path(inspect.getfile(thing))
    except (TypeError, OSError):
        return
    if path.is_file():
        yield path


def _names(code: CodeType) -> set[str]:
    inner = [part for part in code.co_consts if isinstance(part, CodeType)]
    return set(code.co_names).union(*(_names(part) for part in inner))


def _bare(code: CodeType) -> CodeType:
    """Return code without its file name and line numbers, so that a notebook cell keeps its hash when run again."""
    inner = tuple(_bare(part) if isinstance(part, CodeType) else part for part in code.co_consts)
    return code.replace(co_filename="", co_firstlineno=1, co_linetable=b"", co_consts=inner)


@cache
def _imported(path: Path) -> frozenset[Path]:
    """Return the files that a Python file imports from the describing subpackages and from its own folder."""
    in_package = path.is_relative_to(PACKAGE)
    try:
        body = syntax.statements(path.read_bytes())
    except (SyntaxError, ValueError, OSError):
        return frozenset()
    names: set[str] = set()
    for node in chain.from_iterable(map(ast.walk, body)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.update([node.module, *(f"{node.module}.{alias.name}" for alias in node.names)])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("npexplore."):
            names.add(node.value)  # a table of modules that are imported on first use
    files: set[Path] = set()
    for name in names:
        first, *rest = name.split(".")
        if first == "npexplore" and rest and rest[0] in DESCRIBING:
            files.update(_module(PACKAGE, rest))
        elif not in_package and first != "npexplore":
            files.update(_module(path.parent, [first, *rest]))
    return frozenset(files)


def _module(folder: Path, names: list[str]) -> Iterator[Path]:
    """Yield the file of a module, if there is one."""
    base = folder.joinpath(*names)
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            yield path.resolve()


@cache
def _models() -> bytes:
    """Return the hash of the shared files that machines may read."""
    digest, root = blake2b(digest_size=16), share("models")
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        if path.is_file() and relative.parts[0] not in NOT_READ:
            digest.update(f"\0{relative.as_posix()}\0".encode() + path.read_bytes())
    return digest.digest()
