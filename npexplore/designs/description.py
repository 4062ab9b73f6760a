"""`MachineDescription`: a machine file's parameters, the function that builds the machine, and its packets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self, overload

from npexplore.designs.knob_method import takes_knobs
from npexplore.designs.varied import Arriving, ByPackets
from npexplore.errors import InputError
from npexplore.machine.machine import Machine
from npexplore.machine.parameters import Parameters, Value
from npexplore.machine.workload import DROP_REASON, SENT_BYTES, Workload
from npexplore.machine.workload_sources import WorkloadLike, as_workload
from npexplore.mapped_arrays import copied, in_files

LENGTH = "packet_bytes"  # knob: the length of all packets of a design with its own workload


@dataclass(frozen=True)
class MachineDescription:
    """A machine with values for its parameters.

    Args:
        name: the design's name.
        parameters: its parameters with their current values.
        build: parameters -> Machine.
        own: parameters -> the design's own workload (None: users must choose a workload).
        dress: (parameters, workload) -> the same packets with the additional columns that the design's program reads. A
            design with its own workload accepts others only if it has this function.
        memory: parameters -> bytes of on-chip memory by name, in addition to those of the resources (for costs).
        reader: (parameters, file) -> the workload in a file of the design's own format; captures need no reader.
    """

    name: str
    parameters: Parameters
    build: Callable[[Parameters], Machine]
    own: Callable[[Parameters], Workload] | None = None
    dress: Callable[[Parameters, Workload], Workload] | None = None
    memory: Callable[[Parameters], Mapping[str, float]] | None = None
    reader: Callable[[Parameters, Path], Workload] | None = None

    @takes_knobs
    def with_(self, **knobs: Value) -> Self:
        """Return the design with some parameters changed, as in `with_(threads=16)`.

        Raises UnknownNameError for an unknown parameter, InputError for a value out of range.
        """
        return replace(self, parameters=self.parameters.with_(**knobs))

    def arriving(
        self, arrivals: str | None = None, rate: str | float | None = None, speed: float | None = None
    ) -> Self:
        """Return the design with other arrivals of its own packets; raises InputError if it has no packets of its own.

        Args:
            arrivals: an arrival process such as "poisson" (None: unchanged).
            rate: packets a second, or text with a unit such as "4 Gb/s".
            speed: factor by which the recorded arrival times are sped up (2: twice as fast).
        """
        if self.own is None:
            raise InputError(f"design {self.name} has no packets of its own; give a workload with these arrivals")
        return replace(self, own=Arriving(self.own, arrivals, rate, speed))

    def by_packets(self) -> Self:
        """Return the design whose simulations measure a number of packets instead of a fixed time window."""
        return replace(self, build=ByPackets(self.build))

    def fitted(self, load: WorkloadLike | None) -> Self:
        """Return the design with its knob `packet_bytes`, if it has one, set to the longest packet of a workload."""
        parameter_records = self.parameters.file.parameter
        if load is None or self.own is None or LENGTH not in parameter_records:
            return self
        longest = max(int(self.packets(load).packet_bytes.max()), int(parameter_records[LENGTH].min or 0))
        # `changed` does not mark the knob as read
        current_bytes = self.parameters.changed().get(LENGTH, parameter_records[LENGTH].value)
        return self if current_bytes == longest else self.with_(**{LENGTH: longest})

    @overload
    def packets(self, load: WorkloadLike) -> Workload: ...
    @overload
    def packets(self, load: None) -> None: ...
    def packets(self, load: WorkloadLike | None) -> Workload | None:
        """Return a description of packets (`npexplore.workload`) as a workload; None for None.

        The design's `reader`, if any, reads the path of a file.
        """
        if load is None:
            return None
        if self.reader is not None and isinstance(load, str | Path) and Path(load).is_file():
            return self.reader(self.parameters, Path(load))
        return as_workload(load)

    def machine(self, load: WorkloadLike | None = None) -> Machine:
        """Build the machine, for a workload if there is one; raises ModelError if parameters contradict each other."""
        parameters = self.fitted(load).parameters
        machine = self.build(parameters)
        if parameters.jitter:
            machine = copy(machine)
            machine.jitter = parameters.jitter
        return machine

    def workload(self, load: WorkloadLike | None = None) -> Workload:
        """Return `load` as this design's workload; for None, the design's own workload.

        Raises InputError if `load` is None and the design has no workload of its own, or if it accepts only its own.
        """
        if load is None:
            if self.own is None:
                raise InputError(f"design {self.name} needs a workload: a capture, a mix, or a packet length")
            return self.own(self.parameters)
        if self.own is not None and self.dress is None:
            raise InputError(f"design {self.name} brings its own workload; set its knobs instead of giving one")
        packets = self.packets(load)
        if self.dress is None:
            return packets
        dressed = self.dress(self.fitted(packets).parameters, packets)
        verdicts = {name: column for name, column in packets.columns.items() if name in (DROP_REASON, SENT_BYTES)}
        if verdicts:
            dressed = replace(dressed, columns={**dressed.columns, **verdicts})
        if not in_files():
            return dressed
        return replace(dressed, columns={name: copied(column) for name, column in dressed.columns.items()})
