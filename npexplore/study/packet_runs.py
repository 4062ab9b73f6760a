"""Runs many captures through one machine on any executor: one run and one folder of results for each capture.

FOLDER/NAME has the files that `npexplore run --trace NAME --out` writes, and run.json, written last: the document of
the run with a hash of all its inputs. A capture is not run again if its run.json has the same hash.
"""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from npexplore.designs import Design, DesignLike
from npexplore.designs import design as design_of
from npexplore.engine.checkpoint import forget
from npexplore.errors import InputError, NpexploreError, one_of
from npexplore.golden.router.configuration import Router
from npexplore.packets.files import Files, capture_identity, find_captures
from npexplore.packets.output import replacing
from npexplore.paths import capture as sample_path
from npexplore.results import frame_of, plain
from npexplore.study.sweeping.answers import run_tasks
from npexplore.study.sweeping.executors import Wanted
from npexplore.study.sweeping.identity import code_version, model_key

if TYPE_CHECKING:
    import pandas as pd

RESULT_FILE = "run.json"
ENDS = ("packets", "sent", "dropped", "inside")
COUNTS = (*ENDS, "forwarded")


@dataclass(frozen=True)
class RunOptions:
    """Options of `Design.run`, and of `route_run` if a router forwards packets that leave the machine by `port`."""

    seed: int = 1
    speed: float | None = None
    rate: str | float | None = None
    loops: int = 1
    by_resource: bool = False
    memory_bytes: float | None = None
    router: Router | None = None
    port: str | None = None
    any_station: bool = False


class CaptureRun(NamedTuple):
    """The arguments of one run for a worker; key: the hash of everything that the result depends on."""

    design: Design
    trace: str
    folder: Path
    options: RunOptions
    key: str


def run_each(
    of: DesignLike, captures: Files, out: str | Path, *, seed: int = 1, speed: float | None = None,
    rate: str | float | None = None, loops: int = 1, by_resource: bool = False, memory_bytes: float | None = None,
    router: Router | None = None, port: str | None = None, any_station: bool = False, executor: Wanted = None,
    workers: int | None = None, resume: bool = True, progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Run each capture through a design, several in parallel, and return a table with one row for each capture.

    A capture's folder, named as its file, gets the files of `npexplore.solvers.write_run` (and `route_run`), identical
    to those of a run of this capture alone, and run.json. A capture that cannot be run has the reason in `error`.

    Args:
        of: a design, or anything that `npexplore.design` takes.
        captures: files, folders and patterns, as `read_capture` takes them.
        out: the folder for the captures' folders. Workers of a cluster must see it and the captures by the same names.
        seed, speed, rate, loops, by_resource: as in `Design.run`.
        memory_bytes: refuse a capture whose run needs more memory (None: more than is available).
        router: a golden router that forwards packets that leave the machine.
        port: the router's port on which all packets arrive (None: its first).
        any_station: forward frames whatever their destination MAC address.
        executor: "threads" (the default), "processes", "tcp://HOST:PORT" of a Dask cluster, or a `concurrent.futures`
            executor.
        workers: the number of threads or processes.
        resume: use results in `out` of the same captures, design and options, and continue stopped runs from their
            checkpoints; if False, compute all again.
        progress: called with (captures done, all captures).

    Raises:
        InputError: impossible options, a capture named twice, or no capture that can be run.
        NpexploreError: a worker process died; finished results are in `out`.

    Example:
        >>> import npexplore as npx
        >>> from tempfile import TemporaryDirectory
        >>> captures = [npx.bundled_path(f"data/captures/{name}.pcap") for name in ("zeek_wikipedia", "zeek_pppoe")]
        >>> with TemporaryDirectory() as folder:
        ...     npx.study.run_each("smartnic", captures, folder)[["packets", "sent"]].values.tolist()
        [[126, 126], [25, 25]]
    """
    design = design_of(of)
    if router is not None:
        port = router.ports[0].name if port is None else one_of("port", port, [p.name for p in router.ports])
    options = RunOptions(seed, speed, rate, loops, by_resource, memory_bytes, router, port, any_station)
    traces = find_captures(captures)
    same_for_all = (model_key(design), code_version(), pickle.dumps(replace(options, memory_bytes=None)))
    runs = [
        CaptureRun(design, str(trace), folder, options, _key(trace, same_for_all))
        for trace, folder in _folders(traces, Path(out).absolute())
    ]
    documents = {k: _finished(run) if resume else None for k, run in enumerate(runs)}
    unfinished = [k for k, document in documents.items() if document is None]
    total, done = len(runs), len(runs) - len(unfinished)

    def report(more: int = 0) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(done, total)

    def keep(numbers: list[int], results: list[dict[str, Any]]) -> None:
        for number, result in zip(numbers, results, strict=True):
            documents[unfinished[number]] = _checked(runs[unfinished[number]], result)
        report(len(numbers))

    report()
    try:
        todo = [runs[k] for k in unfinished]
        run_tasks(todo, run_captures, keep, takes_long=lambda run: True, executor=executor, workers=workers)
    except BrokenExecutor as error:
        finished = sum(_finished(run) is not None for run in runs)
        raise NpexploreError(f"{error}; {finished} of {total} captures are finished and kept in {out}") from error
    rows = [_row(name, run, documents[k] or {}) for k, (name, run) in enumerate(zip(traces, runs, strict=True))]
    if all(row["error"] for row in rows):
        raise InputError(rows[0]["error"])
    table = frame_of(rows, dict.fromkeys(COUNTS, "packets"))
    return table.astype({name: "Int64" for name in COUNTS if name in table})


def run_captures(runs: Sequence[CaptureRun]) -> list[dict[str, Any]]:
    """Run captures one after the other, write their files, and return the documents of their run.json.

    The document of a capture that cannot be run has `error`, and `missing`: whether the capture does not exist.
    """
    return [_run(run) for run in runs]


def _run(run: CaptureRun) -> dict[str, Any]:
    from npexplore.solve.packet_files import write_run
    from npexplore.solve.packet_router import route_run

    options, target = run.options, run.folder / RESULT_FILE
    target.unlink(missing_ok=True)
    try:
        result = run.design.run(
            run.trace, options.seed, speed=options.speed, rate=options.rate, loops=options.loops,
            by_resource=options.by_resource, memory_bytes=options.memory_bytes, folder=run.folder,
            router=options.router, port=options.port, any_station=options.any_station, resume=True,
        )  # fmt: skip
        files, routed = write_run(result, run.trace, run.folder), None
        if options.router is not None:
            assert options.port is not None
            routed, _ = route_run(result, files, options.router, options.port, any_station=options.any_station)
    except NpexploreError as error:
        forget(run.folder)
        return {"error": str(error), "missing": not Path(run.trace).exists()}
    assert result.capture is not None
    document: dict[str, Any] = plain(
        {
            "key": run.key, "trace": run.trace, "damage": str(result.capture.damage) if result.capture.damage else None,
            "loops": options.loops, "seed": options.seed, **result.to_dict(), "files": files,
            "router": None if routed is None else routed.document(),
        }
    )  # fmt: skip
    with replacing(run.trace, target) as part:
        part.write_text(json.dumps(document, indent=2, allow_nan=False), encoding="utf-8")
    forget(run.folder)
    return document


def _folders(traces: Sequence[str], out: Path) -> list[tuple[Path, Path]]:
    """Return each capture's path and result folder: its path relative to the captures' common folder, below `out`."""
    files = [Path(sample_path(trace)).absolute() for trace in traces]
    if "-" in traces:
        raise InputError("each capture must be a file that can be read again; standard input can be read only once")
    resolved = [file.resolve() for file in files]
    if len(set(resolved)) < len(files):
        twice = next(trace for k, trace in enumerate(traces) if resolved[k] in resolved[:k])
        raise InputError(f"{twice}: is named twice; each capture is run once")
    common_folder = os.path.commonpath([file.parent for file in files])
    folders = [out / file.relative_to(common_folder) for file in files]
    if file := next((folder for folder in folders if folder.is_file()), None):
        raise InputError(f"{file}: is a file, and results would be a folder of this name; choose another than {out}")
    return list(zip(files, folders, strict=True))


def _key(trace: Path, same_for_all: tuple[str, str, bytes]) -> str:
    """Return the hash of a result's inputs: the capture, and the inputs of all captures; "" without a capture."""
    try:
        capture = capture_identity(trace)
    except OSError:
        return ""
    return blake2b(repr((capture, *same_for_all)).encode(), digest_size=16).hexdigest()


def _finished(run: CaptureRun) -> dict[str, Any] | None:
    """Return the document of an earlier run with the same inputs; None if it or one of its files is missing."""
    try:
        document: dict[str, Any] = json.loads((run.folder / RESULT_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not run.key or not isinstance(document, dict) or document.get("key") != run.key:
        return None
    files = [*document["files"].values(), *((document["router"] or {}).get("outputs") or {}).values()]
    return document if all(Path(file).is_file() for file in files) else None


def _checked(run: CaptureRun, document: dict[str, Any]) -> dict[str, Any]:
    """Return a worker's document, or an error document if the worker sees other files than this computer."""
    if document.get("missing") and Path(run.trace).exists():
        problem = f"{run.trace}: is here, but not where the worker looks"
    elif "error" not in document and not (run.folder / RESULT_FILE).is_file():
        problem = f"{run.folder}: was written where the worker is, and not here"
    else:
        return document
    return {"error": f"{problem}: workers must see captures and results under the same names"}


def _row(name: str, run: CaptureRun, document: dict[str, Any]) -> dict[str, Any]:
    """Return the row of one capture in the table."""
    prediction, router = document.get("prediction") or {}, document.get("router") or {}
    latency = prediction.get("latency_ns") or {}
    return {
        "capture": name, "folder": str(run.folder), **{end: document.get(end) for end in ENDS},
        **{f"latency_{quantile}_ns": latency.get(quantile) for quantile in ("mean", "p50", "p99")},
        **({"forwarded": router.get("forwarded")} if run.options.router is not None else {}),
        "damage": document.get("damage"), "error": document.get("error"),
    }  # fmt: skip
