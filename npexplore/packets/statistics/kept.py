"""The counts of finished files, kept in a folder, so that a stopped run counts only the remaining files.

One .npz of plain arrays a file, named by a hash of the capture's path, size, time of change and the release that
counted it. A capture that has changed since, or whose counts are broken, is counted again.
"""

import json
import os
import zipfile
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from npexplore import __version__
from npexplore.errors import InputError
from npexplore.packets.output import replacing
from npexplore.packets.scan import Damage
from npexplore.packets.statistics.counting import CaptureCounts, FileCounts
from npexplore.packets.statistics.flow_set import EXACT_FLOWS

FORM = 1
"""Goes up when what is counted changes."""


class KeptCounts:
    """A folder of counts, created if missing; raises InputError if it cannot be created."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: cannot keep counts there: {error.strerror or error}") from None
        if not os.access(folder, os.W_OK):
            raise InputError(f"{folder}: cannot keep counts there: the folder is not writable")

    def find(self, path: str) -> FileCounts | None:
        """Return the kept counts of a capture, None if there are none or the capture has changed."""
        try:
            with np.load(self._place(path), allow_pickle=False) as found:
                counts = CaptureCounts.of_state(found)
                about = json.loads(str(found["about"]))
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None
        damage = Damage(**about["damage"]) if about["damage"] else None
        return FileCounts(path, counts, about["format"], damage)

    def keep(self, one: FileCounts) -> None:
        """Keep the counts of a file; files that could not be read are tried again the next time."""
        if one.counts is None:
            return
        try:
            place = self._place(one.path)
        except OSError:  # gone since it was counted: nothing can be kept of it, and nothing need be
            return
        about = json.dumps({"format": one.format, "damage": vars(one.damage) if one.damage else None})
        try:
            arrays: dict[str, Any] = {"about": np.array(about), **one.counts.state()}
            with replacing("-", place) as part, part.open("wb") as file:
                np.savez(file, **arrays)
        except OSError as error:
            raise InputError(f"{self._folder}: cannot keep counts there: {error.strerror or error}") from None

    def _place(self, path: str) -> Path:
        file = Path(path).resolve()
        seen = file.stat()
        what = (os.fsencode(file), seen.st_size, seen.st_mtime_ns, __version__, FORM, EXACT_FLOWS)
        return self._folder / f"{blake2b(repr(what).encode(), digest_size=16).hexdigest()}.npz"
