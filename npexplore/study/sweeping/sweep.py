"""Answers many design points into one table, on any executor, with a store from which a stopped sweep is resumed.

    points = npx.grid("ixp2400", npx.workload(mix="amp"), banks=(4, 8), bus_bits=(64, 128), seeds=3)
    npx.sweep(points, store="sweep.parquet")

Rows do not depend on the executor, the number of workers or the order in which points finish.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from npexplore.designs import design
from npexplore.errors import InputError, NpexploreError, positive
from npexplore.solve.simulate import PACKETS
from npexplore.study.sweeping.answers import run_tasks, takes_long
from npexplore.study.sweeping.executors import Wanted
from npexplore.study.sweeping.grid import SweepPoint, grid
from npexplore.study.sweeping.identity import code_version
from npexplore.study.sweeping.rows import answered_rows, arranged, questions, units
from npexplore.study.sweeping.store import Rows, Store, open_store
from npexplore.study.sweeping.tables import Digests, beside, digests, places, taken

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SweepPoint", "grid", "sweep"]


def sweep(
    points: Iterable[SweepPoint | tuple[Any, ...]],
    *,
    executor: Wanted = None,
    workers: int | None = None,
    store: Rows | str | Path | None = None,
    resume: bool = True,
    packets: int = PACKETS,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Return a table with the answer of every point, one row each, in the order of the points.

    The columns are described in `npexplore.study.sweeping.rows`; the table's `attrs["units"]` has their units. The row
    of a point without an answer has the reason in `refused`.

    Args:
        points: tuples (design or its name, workload, solver, seed), as `grid` and `sample` return them.
        executor: "threads" (the default), "processes", "tcp://HOST:PORT" of a Dask cluster, or a `concurrent.futures`
            executor.
        workers: the number of threads or processes.
        store: a Parquet file for the rows; rows that it already holds are not computed again. Rows that are already
            open (`opened`) stay open, for several sweeps into one file.
        resume: use the rows in `store`; if False, a store with answers is refused.
        packets: simulated packets for each point.
        progress: called with (points done, total points).

    Raises:
        InputError: an impossible point or option; raised before anything runs.
        NpexploreError: a worker process died; finished rows are in `store`.

    Example:
        >>> import npexplore as npx
        >>> points = npx.grid("ixp2400", npx.workload(packet_bytes=64), solver="bounds", banks=[2, 4])
        >>> npx.sweep(points)[["banks", "bottleneck"]].values.tolist()
        [[2, 'dram.bank'], [4, 'dram.bus']]
    """
    sweep_points = [_point(item) for item in points]
    del points  # an iterator's points are freed as soon as they are answered
    if not sweep_points:
        raise InputError("a sweep needs at least one point")
    table = questions(sweep_points, int(positive("packets", packets)))
    keys = digests(table)
    names, designs = table.column_names, list({point.design.name: point.design for point in sweep_points}.values())
    with opened(store, resume) as rows:
        rows.ask(table, keys, lambda columns: arranged(columns, names), partial(units, designs))
        _answer(rows, sweep_points, table, keys, packets, progress, executor=executor, workers=workers)
        if rows is store:
            answers = rows.answers(keys)
        elif not isinstance(rows, Store):
            answers = _of(rows.finish(), keys)
    if isinstance(rows, Store) and rows is not store:
        answers = _of(rows.exported(), keys)
    frame = answers.to_pandas(self_destruct=True)
    frame.attrs["units"] = units(designs, frame.columns)
    return frame


def _answer(
    rows: Rows, pending: list[SweepPoint], questions: pa.Table, keys: Digests, packets: int,
    progress: Callable[[int, int], None] | None, executor: Wanted, workers: int | None,
) -> None:  # fmt: skip
    """Answer the points whose rows are not held yet, repeated points once; `pending` is emptied."""
    first = np.sort(np.unique(keys, return_index=True)[1])
    unanswered = first[~np.isin(keys[first], rows.digests)]
    _tell_of_other_versions(rows, keys[unanswered])
    already_committed, total = rows.committed - (len(first) - len(unanswered)), len(first)
    points = [pending[k] for k in unanswered]
    pending.clear()

    def keep(numbers: list[int], answers: pa.Table) -> None:
        at = unanswered[numbers]
        rows.append(beside(questions.take(at), answers), keys[at])

    def look() -> None:
        """Commit rows that are due; rows count as finished after their commit."""
        committed = rows.committed
        rows.commit(due=True)
        if rows.committed > committed:
            report()

    def report() -> None:
        if progress is not None:
            progress(rows.committed - already_committed, total)

    report()
    try:
        task = partial(answered_rows, packets=packets)
        run_tasks(points, task, keep, look, takes_long=takes_long, executor=executor, workers=workers)
    except BrokenExecutor as error:
        rows.commit()
        stored_text = " and kept" if isinstance(rows, Store) else ""
        raise NpexploreError(
            f"{error}; {rows.committed - already_committed} of {total} points are finished{stored_text}"
        ) from error
    uncounted = rows.committed
    rows.commit()
    if rows.committed > uncounted:
        report()


def _of(table: pa.Table, keys: Digests) -> pa.Table:
    """Return the answers of questions, from a table whose last rows are the distinct answers."""
    return taken(table.slice(table.num_rows - len(np.unique(keys))), places(keys))


@contextmanager
def opened(store: Rows | str | Path | None, resume: bool) -> Iterator[Rows]:
    """Yield the rows of one or several sweeps: in memory, in a file opened for the block, or rows already open."""
    if store is None:
        yield Rows()
    elif isinstance(store, Rows):
        yield store
    else:
        with open_store(store, resume=resume) as opened:
            yield opened


def _tell_of_other_versions(rows: Rows, keys: Digests) -> None:
    """Warn about rows of another npexplore version that would otherwise answer the questions."""
    others = rows.other_versions(keys, code_version()) if isinstance(rows, Store) else []
    if others:
        assert isinstance(rows, Store)
        versions = ", ".join(sorted(set(others)))
        single = len(others) == 1
        consequence = "it stays, and its point is" if single else "they stay, and their points are"
        warnings.warn(
            f"{rows.path}: {len(others)} row{' is' if single else 's are'} of npexplore {versions}, "
            f"here is {code_version()}; {consequence} computed again",
            stacklevel=3,
        )


def _point(item: SweepPoint | tuple[Any, ...]) -> SweepPoint:
    point = item if isinstance(item, SweepPoint) else SweepPoint(*item)
    machine = design(point.design)
    load = machine.packets(point.workload)
    same = machine is point.design and load is point.workload
    return point if same else point._replace(design=machine, workload=load)
