"""Failures of a router clustered by the rule that they break, and its conformance table: results by clause.

A frame tries every rule that affects its expected outcome. If the outcome is right, all of them hold; if it is wrong,
the rule of the first difference fails and the frame does not count for the other rules: tried = held + failed.
"""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from npexplore.golden.compare.difference import Difference, summary
from npexplore.golden.router.configuration import Router
from npexplore.golden.router.walk import Outcome
from npexplore.testing.rule_catalogue import Rule, broken, catalogue, tried
from npexplore.testing.verdicts import CounterexampleError, difference_text, shown, verdict

COLUMNS = ("clause", "rule", "tried", "held", "failed")
Key = tuple[Rule, str]


class Failure(NamedTuple):
    """A frame with a wrong outcome: the rule it breaks, a detail, and the expected and the received frames."""

    port: int
    frame: bytes
    outcome: Outcome
    sent: tuple[tuple[int, bytes], ...]
    rule: Rule
    what: str
    difference: Difference | None = None

    @property
    def key(self) -> Key:
        """The key that all failures of a cluster share."""
        return self.rule, self.what

    def __str__(self) -> str:
        """Return the failure in full."""
        if self.difference is None:
            input_text = f"  came in by port {self.port}: {summary(self.frame)}\n    {shown(self.frame)}"
            return f"{self.rule.subject}: {self.what}\n{input_text}"
        return difference_text(self.difference, self.port, self.frame, self.outcome, self.sent)

    def error(self) -> CounterexampleError:
        """Return the failure as an error to raise."""
        difference = self.difference or Difference(self.port, 0, "program", "an end", self.what, self.rule.clause)
        return CounterexampleError(difference, str(self), self.port, self.frame)


def failure(port: int, frame: bytes, outcome: Outcome, sent: Sequence[tuple[int, bytes]]) -> Failure | None:
    """Return the failure if the frames sent for a frame differ from its expected outcome, otherwise None."""
    difference = verdict(sent, outcome, frame)
    if difference is None:
        return None
    return Failure(port, frame, outcome, tuple(sent), *broken(difference, outcome, sent), difference)


@dataclass(frozen=True)
class Cluster:
    """Failures that break one rule in the same way: their number, and the smallest of them."""

    failures: int
    smallest: Failure

    @property
    def title(self) -> str:
        """The rule, its clause, and the detail that distinguishes the cluster."""
        rule, detail = self.smallest.key
        return f"{rule.subject}{f', {detail}' if detail else ''} ({rule.clause})"


Shrink = Callable[[list[Failure]], list[Failure]]


@dataclass
class Tally:
    """Counts frames and rules while a router is tried; `conformance` clusters the failures.

    rules: the first rules of the table (None: all that a router of this configuration may break).
    """

    router: Router
    most: int = 1000
    rules: Sequence[Rule] | None = None
    frames: int = 0
    held: Counter[Rule] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)

    @property
    def full(self) -> bool:
        """Whether the largest number of failures has been reached."""
        return len(self.failures) >= self.most

    def count(self, outcome: Outcome, fault: Failure | None, rule: Rule | None = None) -> None:
        """Count a frame: all its rules hold (if rule is not None, only that rule), or one rule fails."""
        self.frames += 1
        if fault is None:
            self.held.update(tried(outcome) if rule is None else [rule])
        else:
            self.failures.append(fault)

    def conformance(self, shrink: Shrink | None = None) -> Conformance:
        """Return the table and the clusters, largest first, each with its smallest failure, shrunk."""
        members: dict[Key, list[Failure]] = {}
        for fault in self.failures:
            members.setdefault(fault.key, []).append(fault)
        groups = sorted(members.values(), key=len, reverse=True)
        smallest = [min(group, key=lambda fault: (len(fault.frame), fault.frame)) for group in groups]
        shrunk = shrink(smallest) if shrink else smallest
        clusters = [Cluster(len(group), fault) for group, fault in zip(groups, shrunk, strict=True)]
        failed = Counter(fault.rule for fault in self.failures)
        first_rules = catalogue(self.router) if self.rules is None else self.rules
        rules = dict.fromkeys([*first_rules, *self.held, *failed])
        rows = tuple(Row(rule, self.held[rule], failed[rule]) for rule in rules)
        return Conformance(self.router, self.frames, rows, tuple(clusters))


class Row(NamedTuple):
    """A line of the table."""

    rule: Rule
    held: int
    failed: int

    @property
    def tried(self) -> int:
        """Number of times that the rule was judged."""
        return self.held + self.failed

    @property
    def verdict(self) -> str:
        """`failed`, `held` or `not exercised`."""
        return "failed" if self.failed else "held" if self.held else "not exercised"


@dataclass(frozen=True)
class Conformance:
    """The result of examining a router.

    Args:
        router: its configuration.
        frames: number of frames tried.
        rows: the rows of the table, one for each rule.
        clusters: its failures, grouped by cause.

    Example:
        >>> from npexplore.testing import examine_router, XdpRouter
        >>> import npexplore as npx
        >>> drop = XdpRouter(npx.program("mov r0, 1\\nexit"), "office")
        >>> examine_router(drop.forward, "office", max_examples=20).frames > 0
        True
    """

    router: Router
    frames: int
    rows: tuple[Row, ...]
    clusters: tuple[Cluster, ...]

    @property
    def failures(self) -> int:
        """The number of frames with a wrong outcome."""
        return sum(cluster.failures for cluster in self.clusters)

    def raise_if_failed(self) -> None:
        """Raise CounterexampleError for the largest cluster if there is one; its text describes all clusters."""
        if self.clusters:
            error = self.clusters[0].smallest.error()
            raise CounterexampleError(error.difference, self.told_clusters(), error.port, error.frame)

    def headline(self) -> str:
        """Return the counts as a sentence."""
        verdicts = Counter(row.verdict for row in self.rows)
        rules = ", ".join(f"{verdicts[name]} {name}" for name in ("held", "failed", "not exercised"))
        return f"{self.frames} frames, {self.failures} failures in {len(self.clusters)} clusters; rules: {rules}"

    def told_clusters(self) -> str:
        """Return the clusters as text, each with its smallest failure."""
        parts = [f"{self.failures} of {self.frames} frames come out otherwise, in {len(self.clusters)} clusters"]
        for number, cluster in enumerate(self.clusters, start=1):
            parts.append(f"{number}. {cluster.failures} times: {cluster.title}\n{_indented(str(cluster.smallest))}")
        return "\n\n".join(parts)

    def __str__(self) -> str:
        """Return headline, table and clusters as text."""
        cells = [(*COLUMNS, "verdict"), *self._cells()]
        widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
        ]
        return "\n".join([self.headline(), "", *lines, *(["", self.told_clusters()] if self.clusters else [])])

    def _cells(self) -> list[tuple[str, ...]]:
        return [(*row.rule, str(row.tried), str(row.held), str(row.failed), row.verdict) for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        """Return the headline numbers, rows and clusters in JSON types."""
        rows = [dict(zip((*COLUMNS, "verdict"), (*row.rule, row.tried, row.held, row.failed, row.verdict), strict=True))
                for row in self.rows]  # fmt: skip
        clusters = [
            {
                "clause": c.smallest.rule.clause, "rule": c.smallest.rule.subject, "what": c.smallest.what,
                "failures": c.failures, "port": self.router.ports[c.smallest.port].name,
                "frame": c.smallest.frame.hex(), "told": str(c.smallest),
            }
            for c in self.clusters
        ]  # fmt: skip
        return {"frames": self.frames, "failures": self.failures, "rules": rows, "clusters": clusters}

    def to_json(self) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=2)

    def _repr_html_(self) -> str:
        """Return headline, table and clusters as HTML, for notebooks and pages."""
        head = "".join(f"<th>{name}</th>" for name in (*COLUMNS, "verdict"))
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>" for cells in self._cells()
        )
        failures_html = "".join(
            f"<details><summary>{cluster.failures} times: {html.escape(cluster.title)}</summary>"
            f"<pre>{html.escape(str(cluster.smallest))}</pre></details>"
            for cluster in self.clusters
        )
        return f"<p>{html.escape(self.headline())}</p>{failures_html}<table><tr>{head}</tr>{rows}</table>"


def _indented(text: str) -> str:
    return "\n".join(f"   {line}" for line in text.splitlines())
