"""Designs that Petri nets simulate: those of the shelf, and a net file of a user's own with a table [measure].

A net's Prediction is that of its measures (solve/petri/measure.py). Bounds and queueing are those of the machine behind
it, if there is one; a net alone has neither.
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
PACKETS = 20_000  # measured in each seed
LENGTH = "packet_bytes"


@dataclass(frozen=True)
class NetDesign(Design):
    """A design that a Petri net simulates.

    net: its name in models/nets, or path. structure: values that parameters must have, since the net has them in its
    structure. constants: of the net, that knobs set.
    """

    net: str | Path = ""
    structure: Structure = field(default_factory=dict)
    constants: tuple[str, ...] = ()
    by_engine: ClassVar[bool] = False

    def drawn(self) -> Net:
        """Return the net with the design's parameters; raises RefusedError for a structure that it does not have."""
        for name, known in self.structure.items():
            if self.parameters[name] not in known:
                raise RefusedError(
                    f"net {self.net} has {name} {known[0]} in its structure, got {self.parameters[name]}"
                )
        constants = {name: float(self.parameters[name]) for name in self.constants}
        return load_net(self.net, constants, self.parameters)

    def depends_on(self, workload: WorkloadLike | None = None) -> set[str]:
        """Return the names of the parameters that the net reads, and those of the machine behind it."""
        fresh = replace(self, parameters=self.parameters.with_())
        with suppress(RefusedError):
            fresh.drawn()
        return super().depends_on(workload) | fresh.parameters.read

    def simulate(
        self, workload: WorkloadLike | None = None, seed: int = 1, *, seeds: int | Sequence[int] = 1,
        packets: int | None = None, progress: Callable[[int], None] | None = None, **_: Any,
    ) -> Prediction:  # fmt: skip
        """Return the net's answer with 95 % intervals; packets: measured in each seed, about.

        Raises RefusedError for packets that a net does not take, or that arrive otherwise than as fast as they can.
        """
        net = self.drawn()
        load = self.workload(workload)
        if load.arrivals != "saturated":
            raise RefusedError(f"net {net.name} takes packets as fast as it can, got {load.arrivals} arrivals")
        if net.feed:
            net = net.fed(load.columns, ordered=load.ordered)
        return predict(net, seeds_from(seed, seeds), packets=packets or PACKETS, progress=progress)


def net_design(path: str | Path) -> NetDesign:
    """Return the design of a net file: its knobs are its constants that are numbers, and parameters of its machine.

    Raises InputError for a file at fault, RefusedError for a net without the measures that a design needs.
    """
    read, file = read_net_file(path)
    name = read.name or file.stem
    base = load_machine(read.machine) if read.machine else None
    known = {} if base is None else base.parameter
    numbers = {
        key: Parameter(kind="knob", value=said, about="a constant of the net", source=file.name)
        for key, said in read.constant.items()
        if isinstance(said, int | float)
    }
    for key in numbers:
        if key in known:
            raise InputError(f"{file.name}: constant.{key}: a parameter of machine {read.machine} has that name")
    described = MachineFile(
        name=name, title=read.about or name, paper="" if base is None else base.paper,
        parameter={**known, **numbers}, extends=read.machine or None,
    )  # fmt: skip
    parameters = Parameters(described)
    net = load_net(file, parameters=parameters)
    missing = [key for key in ("throughput_bps", "rate_pps") if key not in net.measure]
    if missing:
        raise RefusedError(
            f"{file.name}: a design needs the measures throughput_bps and rate_pps, {missing[0]} is missing"
        )
    check_measures(net)
    own, dress = partial(_own, net), _as_it_is if net.feed else None
    return NetDesign(name, parameters, partial(_alone, name), own=own, dress=dress, net=file, constants=tuple(numbers))


def _own(net: Net, parameters: Parameters) -> Workload:
    """Return what a net's file feeds; a net that takes no packets has one that stands for its tokens."""
    columns = {name: column.astype(np.int64) for name, column in net.feed.items()}
    return Workload(
        "what its file feeds" if net.feed else "its own tokens", {LENGTH: np.ones(1, dtype=np.int64), **columns}
    )


def _as_it_is(parameters: Parameters, load: Workload) -> Workload:
    return load


def _alone(name: str, parameters: Parameters) -> Machine:
    """Return what stands for the machine of a net that has none: whoever asks what packets do in it is refused."""

    def program(m: Recorder, packet: Packet) -> None:
        raise RefusedError(f"{name} is a Petri net: it is simulated, bounds and queueing need a machine")

    return Machine(name, Pool("tokens", 1, program), Ingress("receive", 1, 1))
