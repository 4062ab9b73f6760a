"""Queueing models as functions of arrays, batched over design points; docs/queueing.md says which one to take."""

from npexplore.solve.queueing.approximate import approximate_mva
from npexplore.solve.queueing.banks import bank_bandwidth, crossbar_limit
from npexplore.solve.queueing.birth_death import Transient, steady_state, transient
from npexplore.solve.queueing.caches import Hits, characteristic_time, hit_chances
from npexplore.solve.queueing.general import ggc, md1, mg1, mg1_priority, mg1_ps
from npexplore.solve.queueing.job_bounds import (
    JobBounds,
    asymptotic_bounds,
    balanced_job_bounds,
    multiclass_asymptotic_bounds,
    multiclass_balanced_bounds,
)
from npexplore.solve.queueing.markovian import QueueMeans, erlang_b, machine_repairman, mm1, mmc, mmck
from npexplore.solve.queueing.mixed import mixed_network, open_network
from npexplore.solve.queueing.multiclass import MultiMva, multiclass_mva
from npexplore.solve.queueing.mva import Mva, flow_equivalent, multiserver_rates, mva, stack_rates
from npexplore.solve.queueing.polling import Polling, polling
from npexplore.solve.queueing.renewal import chance_to_wait, deterministic_cycle, gm1, gm1_root, gmc, mgcc, mxg1, mxm1
from npexplore.solve.queueing.sojourn import mmc_quantiles, mmck_quantiles
from npexplore.solve.queueing.traffic import closed_visits, open_rates

__all__ = [
    "Hits",
    "JobBounds",
    "MultiMva",
    "Mva",
    "Polling",
    "QueueMeans",
    "Transient",
    "approximate_mva",
    "asymptotic_bounds",
    "balanced_job_bounds",
    "bank_bandwidth",
    "chance_to_wait",
    "characteristic_time",
    "closed_visits",
    "crossbar_limit",
    "deterministic_cycle",
    "erlang_b",
    "flow_equivalent",
    "ggc",
    "gm1",
    "gm1_root",
    "gmc",
    "hit_chances",
    "machine_repairman",
    "md1",
    "mg1",
    "mg1_priority",
    "mg1_ps",
    "mgcc",
    "mixed_network",
    "mm1",
    "mmc",
    "mmc_quantiles",
    "mmck",
    "mmck_quantiles",
    "multiclass_asymptotic_bounds",
    "multiclass_balanced_bounds",
    "multiclass_mva",
    "multiserver_rates",
    "mva",
    "mxg1",
    "mxm1",
    "open_network",
    "open_rates",
    "polling",
    "stack_rates",
    "steady_state",
    "transient",
]
