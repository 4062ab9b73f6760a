"""Stores the counts of finished files in a folder, so that a stopped run counts only the remaining files.

FOLDER/counts.sqlite (npexplore/store.py) has a row per file; its key is a hash of the capture's path, size, time of
change and the release that counted it. A changed capture, or one whose stored counts are broken, is counted again.
Several runs may use one folder at once.
"""

import io
import json
import os
import zipfile
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from npexplore import __version__
from npexplore.errors import InputError
from npexplore.packets.files import capture_identity
from npexplore.packets.scan import Damage
from npexplore.packets.statistics.counting import CaptureCounts, FileCounts
from npexplore.packets.statistics.flow_set import EXACT_FLOWS
from npexplore.store import Database, Form

CONTENT_VERSION = 2
"""Increase this when the counted quantities change."""
FORM = Form(
    "counts of captures",
    0x6E707863,
    (("CREATE TABLE counts (capture BLOB PRIMARY KEY, arrays BLOB NOT NULL) WITHOUT ROWID",),),
)


class KeptCounts:
    """The stored counts of a folder, which is created if missing; raises InputError if nothing can be stored there."""

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: cannot keep counts there: {error.strerror or error}") from None
        if not os.access(folder, os.W_OK):
            raise InputError(f"{folder}: cannot keep counts there: the folder is not writable")
        self._database = Database.of_cache(folder / "counts.sqlite", FORM)

    def find(self, path: str) -> FileCounts | None:
        """Return the stored counts of a capture, None if there are none or the capture has changed."""
        try:
            capture = _identity(path)
        except OSError:
            return None
        with self._database.snapshot() as connection:
            row = connection.execute("SELECT arrays FROM counts WHERE capture = ?", (capture,)).fetchone()
        if row is None:
            return None
        try:
            with np.load(io.BytesIO(row[0]), allow_pickle=False) as arrays:
                counts = CaptureCounts.of_state(arrays)
                about = json.loads(str(arrays["about"]))
            damage = Damage(**about["damage"]) if about["damage"] else None
            return FileCounts(path, counts, about["format"], damage)
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
            return None

    def keep(self, one: FileCounts) -> None:
        """Store the counts of a file; files that could not be read are not stored, so the next run tries them again."""
        if one.counts is None:
            return
        try:
            capture = _identity(one.path)
        except OSError:  # the file was deleted after it was counted: it cannot be compared later
            return
        about = json.dumps({"format": one.format, "damage": vars(one.damage) if one.damage else None})
        arrays: dict[str, Any] = {"about": np.array(about), **one.counts.state()}
        content = io.BytesIO()
        np.savez(content, **arrays)
        with self._database.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO counts VALUES (?, ?)", (capture, content.getvalue()))

    def close(self) -> None:
        """Close the database; nothing more is stored."""
        self._database.close()


def _identity(path: str) -> bytes:
    key = (*capture_identity(path), __version__, CONTENT_VERSION, EXACT_FLOWS)
    return blake2b(repr(key).encode(), digest_size=16).digest()
