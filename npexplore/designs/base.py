"""Design: what users hold. Parameters from a machine file, a function that builds the machine, and the solvers.

d = npexplore.design("ixp2400").with_(scheme="fcb_tb")
d.bounds(w); d.queueing(w); d.simulate(w, seed=1)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from npexplore.designs.prepared import prepared
from npexplore.designs.varied import Arriving, ByPackets
from npexplore.errors import InputError, RefusedError
from npexplore.machine.machine import Machine
from npexplore.machine.parameters import Parameters, Value, load_machine
from npexplore.machine.under_load import UnderLoad, under_load
from npexplore.machine.workload import Workload
from npexplore.solve.bounds import bounds
from npexplore.solve.prediction import Prediction

if TYPE_CHECKING:
    from npexplore.study.explaining.explain import Explanation
    from npexplore.study.formulas.expressions import Formulas


LENGTH = "packet_bytes"  # the knob of a design with its own workload for the length of all its packets


@dataclass(frozen=True)
class Design:
    """A machine with values for its parameters.

    build: parameters -> Machine. own: parameters -> the workload of a design that brings its own (else None). dress:
    (parameters, workload) -> the same packets with what the design's program asks for beyond their lengths; a design
    with its own takes others only if it has this. memory: parameters -> bytes on chip, by name, that no resource shows
    (for costs). loops: parameters, demands -> the queueing answer of a design with closed loops of its own (else the
    machine as one closed network). reader: (parameters, file) -> the workload of a file that is no plain capture.
    """

    name: str
    parameters: Parameters
    build: Callable[[Parameters], Machine]
    own: Callable[[Parameters], Workload] | None = None
    dress: Callable[[Parameters, Workload], Workload] | None = None
    memory: Callable[[Parameters], Mapping[str, float]] | None = None
    loops: Callable[[Parameters, UnderLoad], Prediction] | None = None
    reader: Callable[[Parameters, Path], Workload] | None = None
    by_engine: ClassVar[bool] = True  # whether the event engine simulates it

    @staticmethod
    def of(
        name: str | Path, build: Callable[[Parameters], Machine], own: Callable[[Parameters], Workload] | None = None,
        dress: Callable[[Parameters, Workload], Workload] | None = None,
        memory: Callable[[Parameters], Mapping[str, float]] | None = None,
        loops: Callable[[Parameters, UnderLoad], Prediction] | None = None,
        reader: Callable[[Parameters, Path], Workload] | None = None,
    ) -> Design:  # fmt: skip
        """Return the design of a machine file (name in models/machines, or path) with that file's values."""
        file = load_machine(name)
        return Design(file.name, Parameters(file), build, own, dress, memory, loops, reader)

    def with_(self, **knobs: Value) -> Design:
        """Return the design with some parameters changed; raises UnknownNameError or InputError."""
        return replace(self, parameters=self.parameters.with_(**knobs))

    def arriving(
        self, arrivals: str | None = None, rate: str | float | None = None, speed: float | None = None
    ) -> Design:
        """Return the design with its own packets arriving otherwise: how, at what rate, or how many times as fast.

        Raises InputError if it brings none.
        """
        if self.own is None:
            raise InputError(f"design {self.name} has no packets of its own; give a workload with these arrivals")
        return replace(self, own=Arriving(self.own, arrivals, rate, speed))

    def by_packets(self) -> Design:
        """Return the design measured over as many packets as somebody asks for, even if it has a window of its own."""
        return replace(self, build=ByPackets(self.build))

    def fitted(self, given: Workload | None) -> Design:
        """Return the design with its knob for the length of its own packets at the longest of those given."""
        known = self.parameters.file.parameter
        if given is None or self.own is None or LENGTH not in known:
            return self
        longest = max(int(given.packet_bytes.max()), int(known[LENGTH].min or 0))
        now = self.parameters.changed().get(LENGTH, known[LENGTH].value)  # not counted as read
        return self if now == longest else self.with_(**{LENGTH: longest})

    def machine(self, given: Workload | None = None) -> Machine:
        """Build the machine (for the packets given); raises ModelError where parameters contradict each other."""
        return self.build(self.fitted(given).parameters)

    def workload(self, given: Workload | None = None) -> Workload:
        """Return the workload given, or the design's own; raises InputError if there is none or one too many."""
        if given is None:
            if self.own is None:
                raise InputError(f"design {self.name} needs a workload: a capture, a mix, or a packet length")
            return self.own(self.parameters)
        if self.own is not None and self.dress is None:
            raise InputError(f"design {self.name} brings its own workload; set its knobs instead of giving one")
        return given if self.dress is None else self.dress(self.fitted(given).parameters, given)

    def depends_on(self, workload: Workload | None = None) -> set[str]:
        """Return the names of the parameters that the machine and its program read."""
        fresh = replace(self, parameters=self.fitted(workload).parameters.with_())
        with suppress(RefusedError):  # what cannot be told is refused after all was read
            under_load(fresh.machine(), fresh.workload(workload))
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
        from npexplore.solve.queueing_model import check_describable, queueing

        ready = prepared(self, workload)
        if self.loops is not None:
            return self.loops(self.parameters, ready.under_load())
        check_describable(ready.machine, ready.workload)
        return queueing(ready.machine, ready.workload, ready.under_load())

    def chain(
        self, workload: Workload | None = None, phases: int | None = None, most_states: int | None = None
    ) -> Prediction:
        """Return the answer by the machine's Markov chain, with a certified error; raises RefusedError where none is.

        phases: of the Erlang time that a constant time is taken for (1: exponential; None: constant times are refused).
        """
        from npexplore.solve.machine_chain import MOST_STATES, ctmc

        ready = prepared(self, workload)
        return ctmc(ready.machine, ready.workload, phases, most_states or MOST_STATES)

    def simulate(
        self, workload: Workload | None = None, seed: int = 1, *, seeds: int | Sequence[int] = 1,
        packets: int | None = None, warm_up: int | None = None, window_s: float | None = None,
        boot_s: float | None = None, breakdown: bool = True, progress: Callable[[int], None] | None = None,
    ) -> Prediction:  # fmt: skip
        """Return the simulated answer with 95 % intervals.

        seeds: how many replications from `seed` on, or the seeds themselves. packets: measured in each (None: as many
        as stand for a mix) after `warm_up` others (None: an eighth as many); or what happens from boot_s to
        boot_s + window_s, as machines with a window of their own always do. breakdown: also say where packets' time
        went, which costs up to a tenth more. progress is called after every batch.
        """
        from npexplore.solve.simulate import PACKETS, replicate

        chosen = list(range(seed, seed + seeds)) if isinstance(seeds, int) else list(seeds)
        n = PACKETS if packets is None else packets
        ready = prepared(self, workload)
        return replicate(
            ready.machine, ready.workload, chosen, packets=n, warm_up=warm_up, window_s=window_s, boot_s=boot_s,
            breakdown=breakdown, progress=progress, model=ready.model() if chosen else None,
        )  # fmt: skip

    def explain(self, workload: Workload | None = None, **options: Any) -> Explanation:
        """Return all three answers, what binds, the headroom and what would help (options: npexplore.explain)."""
        from npexplore.study.explaining.explain import explain  # declared in the import contract

        return explain(self, workload, **options)

    def formula(self, workload: Workload | None = None) -> Formulas:
        """Return ceilings and light-load latency as formulas of the knobs and of the packet (SymPy, LaTeX, text)."""
        from npexplore.study.formulas.search import formulas  # declared in the import contract

        return formulas(self, workload)

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
