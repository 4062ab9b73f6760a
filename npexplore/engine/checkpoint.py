"""The state of a run on the disk, so that a run of a long capture that was stopped goes on where it was.

FOLDER/rows       the row of each packet (npexplore/engine/fates.py), mapped: rows of packets that have ended are final
FOLDER/state.npz  everything else that changes, at a pause of the run: the arrays of `State`, totals of earlier batches,
                  rows of packets that are inside; and the hash of what the run depends on

A process that is killed leaves both behind; a computer that loses its power may lose rows.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import fields
from hashlib import blake2b
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from npexplore import __version__
from npexplore._kernels import engine
from npexplore.engine.fates import NOWHERE, Fates
from npexplore.engine.state import Snapshot, State
from npexplore.mapped_arrays import parts

Arrays = dict[str, npt.NDArray[Any]]
CHECKPOINT_INTERVAL_S = 2.0
UNCHANGED = ("stream", "capacity", "table", "table_at", "where", "fate", "slice", "packets")  # of a state, by a run
FOLDER, ROWS_FILE, STATE_FILE = ".resume", "rows", "state.npz"


class Checkpoints:
    """Checkpoints of one run in a folder; `begin` restores the last one, if it is of the same run."""

    def __init__(self, folder: Path) -> None:
        """folder: of the run's results; it gets one more folder for the checkpoint."""
        self._folder = folder / FOLDER
        self._folder.mkdir(parents=True, exist_ok=True)
        self._key: Future[bytes]
        self._saved_at = time.monotonic()
        self._ended = 0  # packets before the first that is inside
        self.arrived = 0  # packets that had arrived at the last checkpoint

    @property
    def rows_file(self) -> Path:
        """The file of the rows."""
        return self._folder / ROWS_FILE

    def begin(self, state: State, fates: Fates) -> Arrays | None:
        """Take up a run that begins: return what the last checkpoint of the same run has, or None; set the rows."""
        self._state, self._fates = state, fates
        digest = _key(state)
        thread = ThreadPoolExecutor(1, "key of a run")
        self._key = thread.submit(_with_table, digest, state.table)  # nobody needs it before the first checkpoint
        thread.shutdown(wait=False)
        if (saved := self._read()) is None:
            return None
        self._ended, inside = int(saved["ended"]), saved["inside"]
        fates.rows[self._ended : self._ended + len(inside)] = inside
        fates.cleared = self._ended + len(inside)
        self.arrived = int(saved["arrived"])
        return saved

    def _read(self) -> Arrays | None:
        """Return the last checkpoint, if there is one and it is of this run."""
        try:
            with np.load(self._folder / STATE_FILE) as file:
                saved = {name: _whole(file[name]) for name in file.files}
        except (OSError, ValueError, BadZipFile):
            return None
        return saved if saved["key"].tobytes() == self._key.result() else None

    def pause(self, arrived: int, snapshots: Sequence[Snapshot], batch: int, stall: int) -> None:
        """Write a checkpoint at a pause of the run, unless the last one is younger than CHECKPOINT_INTERVAL_S."""
        if time.monotonic() < self._saved_at + CHECKPOINT_INTERVAL_S:
            return
        self._ended = self._fates.ended(self._ended)
        rows = self._fates.rows
        came = arrived
        while came < self._fates.cleared and rows[came, engine.F_ARRIVAL] != NOWHERE:
            came += 1  # at the time of the last that is counted
        arrays: Arrays = {
            "key": np.frombuffer(self._key.result(), np.uint8), "batch": np.array(batch), "stall": np.array(stall),
            "arrived": np.array(arrived), "ended": np.array(self._ended), "inside": rows[self._ended : came],
            **_state(self._state),
        }  # fmt: skip
        for k, snapshot in enumerate(snapshots[1:]):
            arrays |= {f"{k}.{field.name}": np.asarray(getattr(snapshot, field.name)) for field in fields(Snapshot)}
        part = self._folder / f"{STATE_FILE}.part"
        with open(part, "wb") as file:
            np.savez(file, **{name: array.astype(str) if array.dtype == object else array  # type: ignore[arg-type]
                              for name, array in arrays.items()})  # fmt: skip
        part.replace(self._folder / STATE_FILE)
        self._saved_at, self.arrived = time.monotonic(), arrived


def restore(saved: Arrays, state: State, snapshots: list[Snapshot]) -> None:
    """Set the state of a run, and `snapshots` of its finished batches, to those of a checkpoint."""
    for name, array in saved.items():
        if name.startswith(PREFIX):
            setattr(state, name.removeprefix(PREFIX), array)
    while state.pauses and state.pauses[0][1] <= saved["arrived"]:
        state.pauses.popleft()
    for k in range(int(saved["batch"]) - 1):
        values = {field.name: saved[f"{k}.{field.name}"] for field in fields(Snapshot)}
        snapshots.append(Snapshot(**{n: v if v.ndim else int(v) for n, v in values.items()}))  # type: ignore[arg-type]


def forget(folder: Path) -> None:
    """Remove the checkpoint of a run whose results are in a folder."""
    shutil.rmtree(folder / FOLDER, ignore_errors=True)


PREFIX = "state."


def _state(state: State) -> Arrays:
    """Return the arrays of a state that a run changes."""
    return {
        f"{PREFIX}{name}": value
        for name, value in vars(state).items()
        if isinstance(value, np.ndarray) and name not in UNCHANGED
    }


def _key(state: State) -> blake2b:
    """Return the hash of a run that begins, without its table: its state, rows of the model, and the event loop."""
    model = state.model
    digest = blake2b(repr((__version__, model.tick, model.counters, state.fate.shape)).encode(), digest_size=16)
    for path in sorted(Path(engine.__file__).parent.glob("engine*.py")):
        digest.update(path.read_bytes())
    arrays = {name: value for name, value in vars(state).items() if isinstance(value, np.ndarray)}
    for name, array in sorted({**arrays, "rows": model.rows}.items()):
        if name not in ("fate", "table"):
            digest.update(f"\0{name}{array.shape}{array.dtype}".encode() + array.tobytes())
    return digest


def _with_table(digest: blake2b, table: npt.NDArray[Any]) -> bytes:
    for part in parts(len(table)):
        digest.update(table[part].data)
    return digest.digest()


def _whole(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return numbers of any size, which are written as text, as Python's integers; others as they are."""
    return np.vectorize(int, otypes=[object])(array) if array.dtype.kind == "U" else array
