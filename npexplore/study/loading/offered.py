"""A design under one kind of arrivals, to be asked at any offered load: the points of sweeps that answer."""

from __future__ import annotations

from dataclasses import dataclass

from npexplore.designs import Design
from npexplore.errors import InputError
from npexplore.machine.workload import Workload, parse_arrivals
from npexplore.study.loading.points import Saturation
from npexplore.study.sweeping.grid import SweepPoint


@dataclass(frozen=True)
class Offered:
    """A design under one kind of arrivals, to be asked at any load. load: the packets (None: the design's own)."""

    design: Design
    load: Workload | None
    arrivals: str

    @staticmethod
    def of(design: Design, load: Workload | None, arrivals: str) -> Offered:
        """Return a design to be asked at any load; raises InputError for arrivals that have no adjustable rate."""
        if parse_arrivals(arrivals)[0] == "saturated":
            raise InputError("a load needs packets that arrive at a rate (poisson, periodic, ...), got 'saturated'")
        offered = Offered(design.by_packets(), load, arrivals)
        offered.point(1.0, "simulation")
        return offered

    @property
    def name(self) -> str:
        """The name of the packets."""
        return self.design.workload(self.load).name

    def point(self, rate_pps: float | None, solver: str, seed: int | None = None) -> SweepPoint:
        """Return the question at a rate (None: a packet is always waiting)."""
        how = "saturated" if rate_pps is None else self.arrivals
        if self.load is None:
            design = self.design.arriving(how, rate_pps)
            design.workload()
            return SweepPoint(design, None, solver, seed)
        return SweepPoint(self.design, self.load.with_arrivals(how, rate_pps), solver, seed)

    def events(self, rate_pps: float, packets: int) -> float:
        """Return the events of a run at a rate for each of so many packets, 0 where their number is no choice."""
        if self.arrivals == "timestamps":  # a capture runs from its first packet to its last
            return 0.0
        point = self.point(rate_pps, "simulation", 1)
        about = point.design.simulate(point.workload, 1, packets=packets).about
        return float(about["events"]) / float(about["packets"])

    def most(self, full: Saturation | None) -> float:
        """Return the highest rate that the machine forwards, packets a second; by bounds if simulation gives none."""
        if full is not None and full.bottleneck != "arrivals":
            return full.rate_pps
        point = self.point(None, "bounds")
        return min(point.design.bounds(point.workload).ceilings_pps.values())
