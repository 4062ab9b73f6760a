"""The captures of several input ports as one capture, and the port of each of its packets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from npexplore.errors import InputError

if TYPE_CHECKING:
    from npexplore.packets.capture import Capture

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class InputPorts:
    """files: by name of the port, the capture that arrives there; each port has one file."""

    files: Mapping[str, str | Path]

    @property
    def names(self) -> tuple[str, ...]:
        """The ports' names, in the order of their files."""
        return tuple(self.files)

    def read(self, columns: Sequence[str]) -> Capture:
        """Read all files, one after the other, as one capture; raises InputError for a path that is not a file.

        columns: the stored columns to keep.
        """
        from npexplore.packets import read_capture

        for port, file in self.files.items():
            if not Path(file).is_file():
                raise InputError(f"port {port}: its capture must be a file, {file} is none")
        return read_capture([*self.files.values()], columns=columns)

    def of_packets(self, capture: Capture, number: Integers) -> Integers:
        """Return the port of each packet as an index into `names`; number: row in the capture that `read` returned."""
        return np.searchsorted(np.cumsum(capture.file_packets), number, side="right").astype(np.int64)
