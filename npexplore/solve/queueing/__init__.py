"""Queueing models as functions of numeric arrays, batched over design points; docs/queueing.md says which one to take."""

from npexplore.solve.queueing.mva import Mva, flow_equivalent, multiserver_rates, mva

__all__ = ["Mva", "flow_equivalent", "multiserver_rates", "mva"]
