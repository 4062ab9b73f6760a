"""Saves the state of a run to disk, so that a stopped run of a long capture continues where it was.

FOLDER/rows       the row of each packet (npexplore/engine/fates.py), memory-mapped; rows of ended packets are final
FOLDER/state.npz  everything else that a run changes, saved at a pause: the arrays of `State`, totals of earlier
                  batches, rows of packets in the system; and the hash of everything that the run depends on

Both files survive the end of the process; after a power failure, rows may be missing.
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
# fields of a state that a run does not change
UNCHANGED = ("stream", "capacity", "table", "table_at", "where", "fate", "slice", "packets")
FOLDER, ROWS_FILE, STATE_FILE = ".resume", "rows", "state.npz"


class Checkpoints:
    """Checkpoints of one run in a folder; `begin` restores the last one, if it is of the same run."""

    def __init__(self, folder: Path) -> None:
        """folder: of the run's results; the checkpoint is a folder inside it."""
        self._folder = folder / FOLDER
        self._folder.mkdir(parents=True, exist_ok=True)
        self._key: Future[bytes]
        self._saved_at = time.monotonic()
        self._ended = 0  # packets before the first one that is in the system
        self.arrived = 0  # packets that had arrived at the last checkpoint

    @property
    def rows_file(self) -> Path:
        """The path of the file of rows."""
        return self._folder / ROWS_FILE

    def begin(self, state: State, fates: Fates) -> Arrays | None:
        """Begin a run: restore the rows of the last checkpoint of the same run and return its arrays, or None."""
        self._state, self._fates = state, fates
        digest = _key(state)
        thread = ThreadPoolExecutor(1, "key of a run")
        self._key = thread.submit(_with_table, digest, state.table)  # first used by the first checkpoint
        thread.shutdown(wait=False)
        if (saved := self._read()) is None:
            return None
        self._ended, inside = int(saved["ended"]), saved["inside"]
        fates.rows[self._ended : self._ended + len(inside)] = inside
        fates.cleared = self._ended + len(inside)
        self.arrived = int(saved["arrived"])
        return saved

    def _read(self) -> Arrays | None:
        """Return the arrays of the last checkpoint; None if there is none or it is of another run."""
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
        stop = arrived
        while stop < self._fates.cleared and rows[stop, engine.F_ARRIVAL] != NOWHERE:
            stop += 1  # more packets may arrive at the same tick as the last counted one
        arrays: Arrays = {
            "key": np.frombuffer(self._key.result(), np.uint8), "batch": np.array(batch), "stall": np.array(stall),
            "arrived": np.array(arrived), "ended": np.array(self._ended), "inside": rows[self._ended : stop],
            **_state(self._state),
        }  # fmt: skip
        for k, snapshot in enumerate(snapshots[1:]):
            arrays |= {f"{k}.{field.name}": np.asarray(getattr(snapshot, field.name)) for field in fields(Snapshot)}
        part_file = self._folder / f"{STATE_FILE}.part"
        with open(part_file, "wb") as file:
            np.savez(file, **{name: array.astype(str) if array.dtype == object else array  # type: ignore[arg-type]
                              for name, array in arrays.items()})  # fmt: skip
        part_file.replace(self._folder / STATE_FILE)
        self._saved_at, self.arrived = time.monotonic(), arrived


def restore(saved: Arrays, state: State, snapshots: list[Snapshot]) -> None:
    """Set the state of a run, and append the snapshots of its finished batches to `snapshots`, from a checkpoint."""
    for name, array in saved.items():
        if name.startswith(PREFIX):
            setattr(state, name.removeprefix(PREFIX), array)
    while state.pauses and state.pauses[0][1] <= saved["arrived"]:
        state.pauses.popleft()
    for k in range(int(saved["batch"]) - 1):
        values = {field.name: saved[f"{k}.{field.name}"] for field in fields(Snapshot)}
        snapshots.append(Snapshot(**{n: v if v.ndim else int(v) for n, v in values.items()}))  # type: ignore[arg-type]


def forget(folder: Path) -> None:
    """Remove the checkpoint of a run; folder: of the run's results."""
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
    """Return the hash of a run before it begins, without its table: its state, the model's rows, and the event loop."""
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
    """Return an array of text as an array of Python integers (of any size), other arrays unchanged."""
    return np.vectorize(int, otypes=[object])(array) if array.dtype.kind == "U" else array
