"""Design: what users hold. Parameters from a machine file, a function that builds the machine, and the solvers.

d = npexplore.design("ixp2400").with_(scheme="fcb_tb")
d.bounds(w); d.queueing(w); d.simulate(w, seed=1)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npexplore.designs.prepared import prepared
from npexplore.errors import InputError, RefusedError
from npexplore.machine.machine import Machine
from npexplore.machine.parameters import Parameters, Value, load_machine
from npexplore.machine.under_load import UnderLoad, under_load
from npexplore.machine.workload import Workload
from npexplore.solve.bounds import bounds
from npexplore.solve.prediction import Prediction

if TYPE_CHECKING:
    from npexplore.study.explaining.explain import Explanation


@dataclass(frozen=True)
class Design:
    """A machine with values for its parameters.

    build: parameters -> Machine. own: parameters -> the workload of a design that brings its own (else None). dress:
    (parameters, workload) -> the same packets with what the design's program asks for beyond their lengths. memory:
    parameters -> bytes on chip, by name, that no resource shows (for costs). loops: parameters, packets -> the queueing
    answer of a design with closed loops of its own (else the machine as one closed network).
    """

    name: str
    parameters: Parameters
    build: Callable[[Parameters], Machine]
    own: Callable[[Parameters], Workload] | None = None
    dress: Callable[[Parameters, Workload], Workload] | None = None
    memory: Callable[[Parameters], Mapping[str, float]] | None = None
    loops: Callable[[Parameters, Workload], Prediction] | None = None

    @staticmethod
    def of(
        name: str | Path, build: Callable[[Parameters], Machine], own: Callable[[Parameters], Workload] | None = None,
        dress: Callable[[Parameters, Workload], Workload] | None = None,
        memory: Callable[[Parameters], Mapping[str, float]] | None = None,
        loops: Callable[[Parameters, Workload], Prediction] | None = None,
    ) -> Design:  # fmt: skip
        """Return the design of a machine file (name in models/machines, or path) with that file's values."""
        file = load_machine(name)
        return Design(file.name, Parameters(file), build, own, dress, memory, loops)

    def with_(self, **knobs: Value) -> Design:
        """Return the design with some parameters changed; raises UnknownNameError or InputError."""
        return replace(self, parameters=self.parameters.with_(**knobs))

    def machine(self) -> Machine:
        """Build the machine; raises ModelError where parameters contradict each other."""
        return self.build(self.parameters)

    def workload(self, given: Workload | None = None) -> Workload:
        """Return the workload given, or the design's own; raises InputError if there is none or one too many."""
        if self.own is not None:
            if given is not None:
                raise InputError(f"design {self.name} brings its own workload; set its knobs instead of giving one")
            return self.own(self.parameters)
        if given is None:
            raise InputError(f"design {self.name} needs a workload: a capture, a mix, or a packet length")
        return given if self.dress is None else self.dress(self.parameters, given)

    def depends_on(self, workload: Workload | None = None) -> set[str]:
        """Return the names of the parameters that the machine and its program read."""
        fresh = replace(self, parameters=self.parameters.with_())
        with suppress(RefusedError):
            under_load(fresh.machine(), fresh.workload(workload))  # what cannot be told is refused after all was read
        return set(fresh.parameters.read)

    def demands(self, workload: Workload | None = None) -> UnderLoad:
        """Return demands and visits of every server per packet."""
        return prepared(self, workload).under_load()

    def bounds(self, workload: Workload | None = None) -> Prediction:
        """Return the roofline: the upper bound and the resource that sets it."""
        ready = prepared(self, workload)
        return bounds(ready.machine, ready.workload, ready.under_load())

    def queueing(self, workload: Workload | None = None) -> Prediction:
        """Return the queueing model's answer; raises RefusedError where none applies."""
        if self.loops is not None:
            return self.loops(self.parameters, self.workload(workload))
        from npexplore.solve.queueing_model import check_describable, queueing

        ready = prepared(self, workload)
        check_describable(ready.machine, ready.workload)
        return queueing(ready.machine, ready.workload, ready.under_load())

    def simulate(
        self, workload: Workload | None = None, seed: int = 1, *, seeds: int | Sequence[int] = 1,
        packets: int | None = None, window_s: float | None = None, boot_s: float | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Prediction:  # fmt: skip
        """Return the simulated answer with 95 % intervals.

        seeds: how many replications from `seed` on, or the seeds themselves. packets: measured in each (None: as many
        as stand for a mix); or what happens from boot_s to boot_s + window_s, as machines with a window of their own
        always do. progress is called after every batch.
        """
        from npexplore.solve.simulate import PACKETS, replicate

        chosen = list(range(seed, seed + seeds)) if isinstance(seeds, int) else list(seeds)
        n = PACKETS if packets is None else packets
        ready = prepared(self, workload)
        return replicate(
            ready.machine, ready.workload, chosen, packets=n, window_s=window_s, boot_s=boot_s, progress=progress,
            model=ready.model() if chosen else None,
        )  # fmt: skip

    def explain(self, workload: Workload | None = None, **options: Any) -> Explanation:
        """Return all three answers, what binds, the headroom and what would help (options: npexplore.explain)."""
        from npexplore.study.explaining.explain import explain  # declared in the import contract

        return explain(self, workload, **options)

    def __repr__(self) -> str:
        changed = ", ".join(f"{name}={value}" for name, value in self.parameters.changed().items())
        return f"Design({self.name}{': ' + changed if changed else ''})"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{h}</th>" for h in ("parameter", "value", "unit", "kind", "about", "source"))
        rows = "".join(
            f"<tr><td>{name}</td><td>{self.parameters[name]}</td><td>{p.unit}</td>"
            f"<td>{p.kind}</td><td>{p.about}</td><td>{p.source}</td></tr>"
            for name, p in self.parameters.file.parameter.items()
        )
        return f"<b>{self.parameters.file.title}</b><table><tr>{head}</tr>{rows}</table>"
