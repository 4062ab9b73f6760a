"""Provides `npexplore.resource`: any resource kind or shelf part alone, explored closed and open, with exact theory.

bank = npx.resource("banks", banks=4, word="10 ns", precharge="60 ns")
bank.explore(threads=[1, 2, 4, 8, 16])          bank.explore(rate="0.1..0.95")          bank.plot()
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npexplore.display import html_table
from npexplore.errors import InputError, NpexploreError
from npexplore.machine.resources import BufferPool, Lock, Policer
from npexplore.machine.resources.base import OperandValue
from npexplore.machine.resources.streams import StaticStreams
from npexplore.names import registered_function
from npexplore.records import content_hash
from npexplore.study.laboratory.exploration import SOLVERS, closed, opened
from npexplore.study.laboratory.lone import HELD, PACKET_BYTES, LoneResource
from npexplore.study.laboratory.machine_text import machine_text
from npexplore.study.laboratory.parameters import built, kind_named, listed, named, operand, operands_of, visit_of
from npexplore.study.laboratory.points import Exploration
from npexplore.units import quantity

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from npexplore.packets import Capture

HELD_S = 1e-7
HALVES = ("send", "receive")  # visits to a static network, each of which waits for the other


@dataclass(frozen=True, repr=False)
class SingleResource(LoneResource):
    """A resource alone, to be explored; `npexplore.resource` makes one.

    Example:
        >>> import npexplore as npx
        >>> npx.resource("hash").explore(threads=1, solvers=["bounds"])
        Exploration(hash: at most 100 Mpps)
    """

    explored: dict[str, Exploration] = field(default_factory=dict, compare=False)

    __hash__ = content_hash

    def explore(
        self, *, threads: Sequence[int] | int | None = None, rate: str | Sequence[float | str] | float | None = None,
        arrivals: str = "poisson", trace: str | Path | Capture | None = None,
        solvers: Sequence[str] = SOLVERS, seed: int = 1, precision: float = 0.02,
    ) -> Exploration:  # fmt: skip
        """Return the answers of solvers and theory for the resource.

        Args:
            threads: closed: one or several numbers of threads, which always have a packet (None: 1, 2, 4, 8, 16
                without `rate`).
            rate: open: "0.1..0.95" (ten shares of the resource's highest rate), a list of shares or of texts such as
                "2Mpps"; with a trace, the mean rate.
            arrivals: the arrival process for `rate`.
            trace: a capture: its lengths are the bytes of each visit, its hashed destinations choose the member.
            solvers: some of bounds, queueing, simulation, theory.
            seed: seed of the simulation.
            precision: relative half width of the simulation's interval.

        Raises:
            InputError: both threads and a rate, or values out of range.
        """
        if threads is not None and rate is not None:
            raise InputError(f"{self.resource.name}: give threads (closed) or rate (open), not both")
        if rate is None and trace is None and isinstance(self.resource, Policer):
            raise InputError(f"{self.resource.name}: a bucket that drops takes no time: give rate, such as 2Mpps")
        if rate is None:
            if threads is None:
                threads = [1, 2, 4, 8, 16]
            exploration = closed(
                self, [threads] if isinstance(threads, int) else list(threads), trace, solvers, seed, precision
            )
        else:
            exploration = opened(self, rate, arrivals, trace, solvers, seed, precision)
        if trace is None:
            self.explored["closed" if rate is None else "open"] = exploration
        return exploration

    def plot(self) -> go.Figure:
        """Return a figure of the closed and the open exploration: roofline, the solvers' curves, theory as a line.

        The last explorations are drawn; a missing one is computed with the default points. A token bucket that drops
        has no closed curve. A resource without a highest rate has an open curve only if it was explored.
        """
        if "closed" not in self.explored and not isinstance(self.resource, Policer):
            self.explore()
        closed = self.explored.get("closed")
        if "open" not in self.explored and (closed is None or isfinite(closed.ceiling_pps)):
            self.explore(rate="0.1..0.95")
        figure: go.Figure = registered_function("SingleResource.plot")(closed, self.explored.get("open"))
        return figure

    def to_toml(self, threads: int = 8) -> str:
        """Return the text of a machine file in which `threads` threads only visit the resource.

        The text has every parameter and operand. Raises InputError for a value or a name that TOML cannot represent.
        """
        return machine_text(self, threads)

    def __repr__(self) -> str:
        settings = [f"{name}={value!r}" for name, value in {**self.parameters, **self.operands}.items()]
        return f"resource({', '.join([repr(self.kind), *settings])})"

    def _repr_html_(self) -> str:
        settings, _ = named(self.kind)
        rows: list[tuple[object, object]] = [*self.parameters.items()]
        rows += [(f"{self.visit}: {name}", value) for name, value in self.operands.items()]
        rows += [
            ("servers", ", ".join(str(server.name) for server in self.resource.servers() if server.role != "hidden"))
        ]
        return html_table(("parameter", "value"), rows, f"{self.kind}: {settings.about}")


def resource(kind: str, *, name: str | None = None, visit: str | None = None, packet_bytes: int = PACKET_BYTES,
             **parameters: Any) -> SingleResource:  # fmt: skip
    """Return a resource alone, by the name of its kind or part.

    Args:
        kind: "banks", "bus", "hash", "sram", "crossing", a kind of docs/resources.md, or a shelf part.
        name: the resource's name in a machine (None: `kind`).
        visit: the visit that packets make (None: the kind's default).
        packet_bytes: length of the packets.
        parameters: the kind's parameters, such as `banks=4`, `word="10 ns"` or `word_s=1e-8`; and values of the visit's
            operands: a number, a formula of the packet ("packet.packet_bytes"), or the choice of a member ("random",
            "round_robin", "hot:0.5").

    Raises:
        InputError: no such kind or parameter, or a value out of its range.

    Example:
        >>> import npexplore as npx
        >>> bank = npx.resource("banks", banks=4, word="10 ns", precharge="60 ns")
        >>> table = bank.explore(threads=[1, 2], solvers=["bounds"])
        >>> [(p.solver, p.threads, round(p.throughput_pps / 1e6, 1)) for p in table.points][-1]
        ('bounds', 2, 57.1)
    """
    settings, default = named(kind)
    if default.alone:
        raise InputError(f"{kind} cannot be explored alone: {default.alone}; put it into a machine (machine_of)")
    called = name or kind
    first, _ = built(kind, called, {})
    held = HELD_S if isinstance(first, Lock | BufferPool) else None
    kind_parameters, visit_operands = dict(parameters), dict[str, OperandValue]()
    if held is not None and HELD in kind_parameters:
        text = str(kind_parameters.pop(HELD))
        held = quantity(f"{kind}: {HELD}", text, "s")
        if not 0 <= held < inf:
            raise InputError(f"{kind}: {HELD} must be at least 0 s, got {text!r}")
    method = visit_of(first, default, visit)
    if isinstance(first, StaticStreams) and method in HALVES:
        raise InputError(
            f"{kind} ({kind_named(kind)}): {method} alone never ends, since no thread does its other half; use visit "
            "stream, which sends and receives"
        )
    operand_names = {*first.VISITS[method]}
    for key in list(kind_parameters):
        if key in operand_names and not _is_parameter(kind, key):
            visit_operands[key] = operand(f"{kind} ({kind_named(kind)}): {key}", key, kind_parameters.pop(key))
    part, table = built(kind, called, kind_parameters)
    operands = operands_of(part, method, default.operands, settings.operands, visit_operands)
    members = getattr(part, "members", 1)
    if "member" in part.VISITS[method] and isinstance(members, int) and members > 1:
        operands.setdefault("member", "random")
    lone = SingleResource(kind, part, method, operands if held is None else {}, table, packet_bytes, held)
    try:
        demands = lone.design().demands(lone.packets())  # raises for faulty operands
    except NpexploreError as error:
        reason = re.sub(rf"^(steps\[0\]: |{called}_alone: steps, line \d+: )", "", str(error))
        raise InputError(f"{kind} ({kind_named(kind)}): {reason}") from None
    if not demands.demands.latency and not demands.ceilings() and not isinstance(part, Policer):
        values = {**table, **operands, HELD: held}
        times = " and ".join(f"{key} = {value!r}" for key, value in values.items() if value in (0, "0"))
        raise InputError(f"{kind} ({kind_named(kind)}): a visit takes no time with {times}; set a time above 0 s")
    return lone


def _is_parameter(kind: str, key: str) -> bool:
    return any(row["name"] == key for row in listed(kind))
