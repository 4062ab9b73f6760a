"""The common base of answers about a net: the document that `npexplore solve` prints, and rows of means."""

from collections.abc import Mapping
from typing import Any, ClassVar

from npexplore.results import Result


class NetResult(Result):
    """An answer about a net; `solver` names the method, `refused` says why there is none."""

    solver: ClassVar[str]
    refused: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as in the JSON document of `npexplore solve`."""
        return {"solver": self.solver, **super().to_dict()}

    def heading(self) -> str:
        """Return the method, and why it has no answer if it has none."""
        if self.refused:
            return f"{self.solver}, refused: {self.refused}"
        counts = [f"{name.replace('_', ' ')} {n:,}" for name, n in vars(self).items() if type(n) is int]
        return ", ".join([self.solver, *counts])


def means(**groups: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return a row for each name of each group: `mean` with the ends of its interval, and other fields unchanged."""
    singular = {"places": "place", "transitions": "transition", "resources": "resource", "ages": "age"}
    rows = []
    for group, values in groups.items():
        for name, value in (values or {}).items():
            (_, mean), *others = vars(value).items()
            rows.append({"of": singular[group], "name": name, "mean": mean, **dict(others)})
    return rows
