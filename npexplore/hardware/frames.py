"""`Frame`: the state of a function that the interpreter runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Frame:
    """The state of a running function: its names, whether it has returned on all paths (`over`), and its returns.

    returns: (test, value, kept values at that point) in order; the first one whose test is 1 applies.
    """

    def __init__(self, names: Mapping[str, Any], file: str) -> None:
        self.names: dict[str, Any] = {}
        self.outer, self.file, self.over = names, file, False
        self.returns: list[tuple[int, Any, dict[str, Any]]] = []

    def copy(self) -> Frame:
        """Return a frame for one branch: it has the same names and no returns yet."""
        frame = Frame(self.outer, self.file)
        frame.names = dict(self.names)
        return frame
