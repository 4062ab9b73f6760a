"""Designs that are simulated as Petri nets: the listed ones, and a user's net file with a table [measure].

A net's `Prediction` consists of its measures (solve/petri/measure.py). Bounds and queueing come from the machine that
the net models; a net without a machine has neither.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from npexplore.designs.base import Design
from npexplore.errors import InputError, RefusedError
from npexplore.machine.machine import Machine, Pool
from npexplore.machine.machine_files import load_machine
from npexplore.machine.parameters import MachineFile, Parameter, Parameters
from npexplore.machine.petri import Net, load_net
from npexplore.machine.petri.description import read_net_file
from npexplore.machine.program import Packet, Recorder
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.workload import Workload
from npexplore.machine.workload_sources import WorkloadLike
from npexplore.solve.petri import predict
from npexplore.solve.petri.measure import check_measures
from npexplore.solve.prediction import Prediction
from npexplore.solve.seeds import seeds_from

Structure = Mapping[str, tuple[object, ...]]
PACKETS = 20_000  # packets measured per seed
LENGTH = "packet_bytes"


@dataclass(frozen=True)
class NetDesign(Design):
    """A design that is simulated as a Petri net.

    net: its name in models/nets, or its path. structure: the values that a parameter may have, because the net's
    structure fixes them. constants: names of the net's constants that knobs set.
    """

    net: str | Path = ""
    structure: Structure = field(default_factory=dict)
    constants: tuple[str, ...] = ()
    by_engine: ClassVar[bool] = False

    def drawn(self) -> Net:
        """Return the net with the design's parameters; raises RefusedError for a value that its structure excludes."""
        for name, allowed in self.structure.items():
            if self.parameters[name] not in allowed:
                raise RefusedError(
                    f"net {self.net} has {name} {allowed[0]} in its structure, got {self.parameters[name]}"
                )
        constants = {name: float(self.parameters[name]) for name in self.constants}
        return load_net(self.net, constants, self.parameters)

    def depends_on(self, workload: WorkloadLike | None = None) -> set[str]:
        """Return the names of the parameters that the net and its machine read."""
        fresh = replace(self, parameters=self.parameters.with_())
        with suppress(RefusedError):
            fresh.drawn()
        return super().depends_on(workload) | fresh.parameters.read

    def simulate(
        self, workload: WorkloadLike | None = None, seed: int = 1, *, seeds: int | Sequence[int] = 1,
        packets: int | None = None, progress: Callable[[int], None] | None = None, **_: Any,
    ) -> Prediction:  # fmt: skip
        """Return the net's prediction with 95 % intervals; packets: approximate number measured per seed.

        Raises RefusedError for packets that the net cannot take, and for arrivals that are not saturated.
        """
        net = self.drawn()
        load = self.workload(workload)
        if load.arrivals != "saturated":
            raise RefusedError(f"net {net.name} takes packets as fast as it can, got {load.arrivals} arrivals")
        if net.feed:
            net = net.fed(load.columns, ordered=load.ordered)
        return predict(net, seeds_from(seed, seeds), packets=packets or PACKETS, progress=progress)


def net_design(path: str | Path) -> NetDesign:
    """Return the design of a net file. Its knobs are the net's numeric constants and its machine's parameters.

    Raises InputError for an invalid file, RefusedError for a net without the measures that a design needs.
    """
    net_file, path_of_net = read_net_file(path)
    name = net_file.name or path_of_net.stem
    machine_file = load_machine(net_file.machine) if net_file.machine else None
    machine_parameters = {} if machine_file is None else machine_file.parameter
    numbers = {
        key: Parameter(kind="knob", value=value, about="a constant of the net", source=path_of_net.name)
        for key, value in net_file.constant.items()
        if isinstance(value, int | float)
    }
    for key in numbers:
        if key in machine_parameters:
            raise InputError(
                f"{path_of_net.name}: constant.{key}: a parameter of machine {net_file.machine} has that name"
            )
    described = MachineFile(
        name=name, title=net_file.about or name, paper="" if machine_file is None else machine_file.paper,
        parameter={**machine_parameters, **numbers}, extends=net_file.machine or None,
    )  # fmt: skip
    parameters = Parameters(described)
    net = load_net(path_of_net, parameters=parameters)
    missing = [measure for measure in ("throughput_bps", "rate_pps") if measure not in net.measure]
    if missing:
        raise RefusedError(
            f"{path_of_net.name}: a design needs the measures throughput_bps and rate_pps, {missing[0]} is missing"
        )
    check_measures(net)
    own_packets, dress = partial(_own, net), _as_it_is if net.feed else None
    return NetDesign(
        name, parameters, partial(_alone, name), own=own_packets, dress=dress, net=path_of_net, constants=tuple(numbers)
    )


def _own(net: Net, parameters: Parameters) -> Workload:
    """Return the packets in the net's file; for a net without packets, a single one that stands for its tokens."""
    columns = {name: column.astype(np.int64) for name, column in net.feed.items()}
    return Workload(
        "what its file feeds" if net.feed else "its own tokens", {LENGTH: np.ones(1, dtype=np.int64), **columns}
    )


def _as_it_is(parameters: Parameters, load: Workload) -> Workload:
    return load


def _alone(name: str, parameters: Parameters) -> Machine:
    """Return a placeholder machine for a net without one; its program raises RefusedError when it is recorded."""

    def program(m: Recorder, packet: Packet) -> None:
        raise RefusedError(f"{name} is a Petri net: it is simulated, bounds and queueing need a machine")

    return Machine(name, Pool("tokens", 1, program), Ingress("receive", 1, 1))
