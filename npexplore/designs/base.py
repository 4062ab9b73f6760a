"""Design: what users hold. Parameters from a machine file, a function that builds the machine, and the solvers.

    d = npexplore.design("ixp2400").with_(scheme="fcb_tb")
    d.bounds(w); d.queueing(w); d.simulate(w, seed=1)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from npexplore.machine.machine import Machine
from npexplore.machine.parameters import Parameters, Value, load_machine
from npexplore.machine.workload import Workload
from npexplore.solve.bounds import Demanded, bounds, demanded
from npexplore.solve.prediction import Prediction


@dataclass(frozen=True)
class Design:
    """A machine with values for its parameters.

    build: parameters -> Machine; check: raises InputError where parameters contradict each other.
    """

    name: str
    parameters: Parameters
    build: Callable[[Parameters], Machine]

    @staticmethod
    def of(name: str, build: Callable[[Parameters], Machine], file: str | None = None) -> Design:
        """Return the design of a machine file in models/machines with its published parameters."""
        return Design(name, Parameters(load_machine(file or name)), build)

    def with_(self, **knobs: Value) -> Design:
        """Return the design with some parameters changed; raises UnknownNameError or InputError."""
        return Design(self.name, self.parameters.with_(**knobs), self.build)

    def machine(self) -> Machine:
        """Build the machine; raises ModelError where parameters contradict each other."""
        return self.build(self.parameters)

    def demands(self, workload: Workload) -> Demanded:
        """Return demands and visits of every server per packet."""
        return demanded(self.machine(), workload)

    def bounds(self, workload: Workload) -> Prediction:
        """Return the roofline: the upper bound and the resource that sets it."""
        return bounds(self.machine(), workload)

    def queueing(self, workload: Workload) -> Prediction:
        """Return the queueing model's answer; raises RefusedError where none applies."""
        from npexplore.solve.network import queueing

        return queueing(self.machine(), workload)

    def simulate(self, workload: Workload, seed: int = 1, *, seeds: int | Sequence[int] = 1, packets: int = 20_000) -> Prediction:
        """Return the simulated answer with 95 % intervals; `seeds` > 1 runs that many replications from `seed` on."""
        from npexplore.solve.simulate import replicate

        chosen = list(range(seed, seed + seeds)) if isinstance(seeds, int) else list(seeds)
        return replicate(self.machine(), workload, chosen, packets=packets)

    def __repr__(self) -> str:
        changed = ", ".join(f"{name}={value}" for name, value in self.parameters.changed().items())
        return f"Design({self.name}{': ' + changed if changed else ''})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td style='text-align:left'>{name}</td><td>{self.parameters[name]}</td><td>{p.unit}</td>"
            f"<td>{p.kind}</td><td style='text-align:left'>{p.about}</td><td style='text-align:left'>{p.source}</td></tr>"
            for name, p in self.parameters.file.parameter.items()
        )
        head = "<tr>" + "".join(f"<th>{h}</th>" for h in ("parameter", "value", "unit", "kind", "about", "source")) + "</tr>"
        return f"<b>{self.parameters.file.title}</b><table>{head}{rows}</table>"
