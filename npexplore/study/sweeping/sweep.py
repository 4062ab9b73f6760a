"""Many design points into one table, on any executor, with a store from which a stopped or killed sweep is resumed.

    points = npx.grid("ixp2400", npx.workload(mix="amp"), banks=(4, 8), bus_bits=(64, 128), seeds=3)
    npx.sweep(points, store="sweep.parquet")

A row is the same whatever the executor, the number of workers and the order in which points end.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import BrokenExecutor
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from npexplore.designs import design
from npexplore.errors import InputError, NpexploreError, positive
from npexplore.solve.simulate import PACKETS
from npexplore.study.sweeping.answers import run_tasks
from npexplore.study.sweeping.executors import Wanted
from npexplore.study.sweeping.grid import SweepPoint, grid
from npexplore.study.sweeping.identity import code_version
from npexplore.study.sweeping.rows import SCHEMA, answered_rows, arranged, questions, units
from npexplore.study.sweeping.store import KEY, Key, Store, beside, concatenate, key_of, keys_of, tabulate

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SweepPoint", "grid", "sweep"]


def sweep(
    points: Iterable[SweepPoint | tuple[Any, ...]],
    *,
    executor: Wanted = None,
    workers: int | None = None,
    store: str | Path | None = None,
    resume: bool = True,
    packets: int = PACKETS,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Answer every point, and return a table with one row for each, in the order of the points.

    The columns are described in `npexplore.study.sweeping.rows`; `attrs["units"]` of the table gives the unit of each.
    A point that cannot be answered is a row with the reason in `refused`.

    Args:
        points: tuples (design or its name, workload, solver, seed), as `grid` and `sample` return them.
        executor: "threads" (the default), "processes", "tcp://HOST:PORT" of a Dask cluster, or a `concurrent.futures`
            executor.
        workers: the number of threads or processes.
        store: a Parquet file that keeps the rows; those that it already holds are not computed again.
        resume: use the rows of `store`; if False it is written anew.
        packets: simulated packets for each point.
        progress: called with (points done, points in all).

    Raises:
        InputError: before anything runs, for a point or option that is impossible.
        NpexploreError: a worker process died; finished rows are in `store`.

    Example:
        >>> import npexplore as npx
        >>> points = npx.grid("ixp2400", npx.workload(packet_bytes=64), solver="bounds", banks=[2, 4])
        >>> npx.sweep(points)[["banks", "bottleneck"]].values.tolist()
        [[2, 'dram.bank'], [4, 'hash']]
    """
    asked = [_point(given) for given in points]
    if not asked:
        raise InputError("a sweep needs at least one point")
    rows = questions(asked, int(positive("packets", packets)))
    order = [key_of(row) for row in rows]
    kept = Store(store, resume=resume) if store is not None else None
    if kept is not None:
        kept.check_kinds(rows)
    held = kept.keys() if kept is not None else set()
    # A question asked twice is answered once.
    open_ = sorted({key: k for k, key in reversed(list(enumerate(order))) if key not in held}.values())
    _tell_of_other_versions({order[k] for k in open_}, held, store)
    done = len(set(order) & held)
    total = done + len(open_)
    fresh: list[pa.Table] = []

    questions_ = tabulate([rows[k] for k in open_], SCHEMA)

    def keep(numbers: list[int], found: pa.Table) -> None:
        nonlocal done
        table = beside(questions_.take(numbers), found)
        kept.append(table) if kept is not None else fresh.append(table)
        done += table.num_rows
        report()

    def report() -> None:
        if progress is not None:
            progress(done, total)

    with kept.writing() if kept is not None else nullcontext():
        report()
        try:
            run_tasks(
                [asked[k] for k in open_], answered_rows, keep, executor=executor, workers=workers, packets=packets
            )
        except BrokenExecutor as error:
            kept_too = " and kept" if kept is not None else ""
            raise NpexploreError(f"{error}; {done} of {total} points are finished{kept_too}") from error
        finally:
            if kept is not None:
                table = kept.merge(
                    dict(zip(order, rows, strict=True)), lambda names: arranged(names, rows), partial(units, asked)
                )
            else:
                table = concatenate(fresh)
                table = table.select(arranged(table.column_names, rows))
    place = {key: k for k, key in enumerate(keys_of(table))}
    frame = table.take([place[key] for key in order]).to_pandas()
    frame.attrs["units"] = units(asked, frame.columns)
    return frame


def _tell_of_other_versions(open_: set[Key], held: set[Key], store: str | Path | None) -> None:
    """Warn where rows of another npexplore would answer what is asked, if they were of this one."""
    at = KEY.index("version")
    here = {key[:at] + key[at + 1 :]: key[at] for key in open_}
    others = [key[at] for key in held if key[at] != here.get(key[:at] + key[at + 1 :], key[at])]
    if others:
        told = ", ".join(sorted(set(others)))
        one = len(others) == 1
        theirs = "it stays, and its point is" if one else "they stay, and their points are"
        warnings.warn(
            f"{store}: {len(others)} row{' is' if one else 's are'} of npexplore {told}, here is {code_version()}; "
            f"{theirs} computed again",
            stacklevel=3,
        )


def _point(given: SweepPoint | tuple[Any, ...]) -> SweepPoint:
    point = SweepPoint(*given)
    made = design(point.design)
    return point._replace(design=made, workload=made.packets(point.workload))
