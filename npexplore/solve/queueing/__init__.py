"""Queueing models as functions of arrays, batched over design points; docs/queueing.md says which one to take."""

from npexplore.solve.queueing.multiclass import MultiMva, multiclass_mva
from npexplore.solve.queueing.mva import Mva, flow_equivalent, multiserver_rates, mva

__all__ = ["MultiMva", "Mva", "flow_equivalent", "multiclass_mva", "multiserver_rates", "mva"]
