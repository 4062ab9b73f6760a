"""Makes sweep points of a design at any offered load of one arrival process."""

from __future__ import annotations

from dataclasses import dataclass

from npexplore.designs import Design
from npexplore.errors import InputError
from npexplore.machine.workload import Workload, parse_arrivals
from npexplore.study.loading.points import Saturation
from npexplore.study.sweeping.grid import SweepPoint


@dataclass(frozen=True)
class Offered:
    """A design with one arrival process and an adjustable rate. load: the packets (None: the design's own)."""

    design: Design
    load: Workload | None
    arrivals: str

    @staticmethod
    def of(design: Design, load: Workload | None, arrivals: str) -> Offered:
        """Return a design with adjustable load; raises InputError for arrivals that have no adjustable rate."""
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
        """Return the sweep point at a rate in packets/s (None: saturated, a packet is always waiting)."""
        arrivals = "saturated" if rate_pps is None else self.arrivals
        if self.load is None:
            design = self.design.arriving(arrivals, rate_pps)
            design.workload()
            return SweepPoint(design, None, solver, seed)
        return SweepPoint(self.design, self.load.with_arrivals(arrivals, rate_pps), solver, seed)

    def events(self, rate_pps: float, packets: int) -> float:
        """Return the events per packet of a run at a rate (packets/s); 0 for a capture, whose length is fixed."""
        if self.arrivals == "timestamps":  # a capture runs from its first packet to its last
            return 0.0
        point = self.point(rate_pps, "simulation", 1)
        about = point.design.simulate(point.workload, 1, packets=packets).about
        return float(about["events"]) / float(about["packets"])

    def most(self, full: Saturation | None) -> float:
        """Return the machine's highest rate in packets/s: its saturation, else the lowest ceiling by bounds."""
        if full is not None and full.bottleneck != "arrivals":
            return full.rate_pps
        point = self.point(None, "bounds")
        return min(point.design.bounds(point.workload).ceilings_pps.values())
