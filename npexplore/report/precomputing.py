"""Stores slow results in data/precomputed with the call that returns them, so that a page need not compute them.

    readings = precomputed(study.readings, ["v1", "v2"], 64, 480, machines=["raw"])

A file is used as long as the models that it names are unchanged; otherwise, and with NPEXPLORE_PRECOMPUTED=0
(`npexplore report --compute`), the function is called. `make precomputed` computes all files again, and with
NPEXPLORE_PRECOMPUTED=write a call without a valid file writes it. A slow test computes every file.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from math import isclose, isnan
from pathlib import Path
from typing import Any, TypeVar

from npexplore.designs import Design, design
from npexplore.errors import InputError
from npexplore.packets.output import write_text
from npexplore.paths import share
from npexplore.progress import Task

T = TypeVar("T")

FOLDER, SETTING = "precomputed", "NPEXPLORE_PRECOMPUTED"
SHARED_MODELS = ("mixes", "parts", "raw", "sets")  # folders of models that any machine may read
FRAME, DESIGN = "DataFrame", "Design"  # keys that mark objects without a JSON type
RELATIVE_TOLERANCE = 1e-9  # between a stored result and one that is computed again


def precomputed(function: Callable[..., T], *arguments: Any, machines: Sequence[str]) -> T:
    """Return the result of a public function of the package for these arguments, from its file if it is valid.

    Args:
        function: returns a DataFrame, or dictionaries and lists of DataFrames, numbers, texts and None.
        arguments: numbers, texts, None, designs, and lists and dictionaries of them.
        machines: the listed designs that the result is about.

    Raises:
        InputError: arguments or a result that cannot be stored.
    """
    call = _call(function, arguments, machines)
    setting, path = os.environ.get(SETTING, ""), _path(call)
    if setting != "0" and path.is_file():
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["models"] == models_hash(tuple(machines)):
            result: T = _decoded(record["result"])
            return result
    result = function(*arguments)
    if setting == "write":
        _write(path, call, result)
    return result


def files() -> list[Path]:
    """Return the files of stored results."""
    return sorted((share("data") / FOLDER).glob("*.json"))


def is_current(path: Path) -> bool:
    """Return whether the models that a stored result was computed from are unchanged."""
    record = json.loads(path.read_text(encoding="utf-8"))
    return bool(record["models"] == models_hash(tuple(record["machines"])))


def compute_again(path: Path, *, write: bool) -> bool:
    """Compute a stored result again and return whether it is the same; write: whether to replace the file."""
    record = json.loads(path.read_text(encoding="utf-8"))
    module, _, name = record["function"].partition(":")
    result = getattr(import_module(module), name)(*map(_decoded, record["arguments"]))
    if write:
        _write(path, {key: record[key] for key in ("function", "arguments", "machines")}, result)
    return same(_decoded(record["result"]), result)


@cache
def models_hash(machines: tuple[str, ...]) -> str:
    """Return the hash of the files of these machines and of all models that machines share."""
    models = share("models")
    paths = [models / "machines" / f"{name}.toml" for name in machines]
    paths += sorted(path for folder in SHARED_MODELS for path in (models / folder).rglob("*") if path.is_file())
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"\0{path.relative_to(models).as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def same(one: Any, other: Any) -> bool:
    """Return whether two results are equal except for rounding."""
    if _is_frame(one) and _is_frame(other):
        return same(one.to_dict("list"), other.to_dict("list"))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) or isinstance(other, float):
        if not isinstance(one, int | float) or not isinstance(other, int | float):
            return False
        return (isnan(one) and isnan(other)) or isclose(one, other, rel_tol=RELATIVE_TOLERANCE)
    return bool(one == other)


def _call(function: Callable[..., Any], arguments: Sequence[Any], machines: Sequence[str]) -> dict[str, Any]:
    name = f"{function.__module__}:{function.__name__}"
    return {
        "function": name, "arguments": [_encoded(argument, name) for argument in arguments], "machines": list(machines),
    }  # fmt: skip


def _path(call: Mapping[str, Any]) -> Path:
    digest = hashlib.sha256(json.dumps([call["function"], call["arguments"]]).encode()).hexdigest()
    return share("data") / FOLDER / f"{call['function'].partition(':')[2]}-{digest[:8]}.json"


def _write(path: Path, call: Mapping[str, Any], result: Any) -> None:
    encoded = _encoded(result, call["function"])
    if not same(_decoded(json.loads(json.dumps(encoded))), result):
        raise InputError(f"{call['function']}: its result changes when it is stored as JSON")
    record = {**call, "models": models_hash(tuple(call["machines"])), "result": encoded}
    path.parent.mkdir(exist_ok=True)
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in record.items())
    write_text(path, f"{{\n{lines}\n}}\n")


def _encoded(value: Any, of: str) -> Any:
    """Return a value in JSON types; raises InputError for a value that JSON cannot represent."""
    if _is_frame(value):
        if list(value.index) != list(range(len(value))):
            raise InputError(f"{of}: a table to be stored must have the index 0, 1, 2, ...")
        return {FRAME: {str(name): _encoded(value[name].tolist(), of) for name in value.columns}}
    if isinstance(value, Design):
        return {DESIGN: value.name, "set": dict(value.parameters.changed())}
    if isinstance(value, Mapping):
        return {str(key): _encoded(item, of) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encoded(item, of) for item in value]
    if hasattr(value, "item"):
        return value.item()
    if isinstance(value, str | bool | int | float | None):
        return value
    raise InputError(f"{of}: {type(value).__name__} cannot be stored as JSON")


def _decoded(value: Any) -> Any:
    if isinstance(value, dict) and list(value) == [FRAME]:
        import pandas as pd

        return pd.DataFrame(value[FRAME])
    if isinstance(value, dict) and list(value) == [DESIGN, "set"]:
        return design(value[DESIGN]).with_(**value["set"])
    if isinstance(value, dict):
        return {key: _decoded(item) for key, item in value.items()}
    return [_decoded(item) for item in value] if isinstance(value, list) else value


def _is_frame(value: Any) -> bool:
    return type(value).__name__ == FRAME and hasattr(value, "columns")


def main(names: Sequence[str]) -> None:
    """Compute again and store the results whose file names begin with one of the names (no names: all)."""
    chosen = [path for path in files() if not names or path.name.startswith(tuple(names))]
    with Task("precomputed", unit="result", total=len(chosen)) as task:
        for path in chosen:
            print(path.name, "is unchanged" if compute_again(path, write=True) else "has changed", flush=True)
            task.advance()


if __name__ == "__main__":
    main(sys.argv[1:])
