"""What a function that is being run has: its names, and where it has returned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Frame:
    """A function being run: its names, whether it has returned in any case, and where it returned.

    returns: (test, value, what was kept then), in order; the first of which the test is 1 counts.
    """

    def __init__(self, names: Mapping[str, Any], file: str) -> None:
        self.names: dict[str, Any] = {}
        self.outer, self.file, self.over = names, file, False
        self.returns: list[tuple[int, Any, dict[str, Any]]] = []

    def copy(self) -> Frame:
        """Return a frame that goes its own way from here."""
        frame = Frame(self.outer, self.file)
        frame.names = dict(self.names)
        return frame
