"""Formulas of queueing theory as functions of arrays: single stations, closed and open networks, bounds, polling."""

from typing import TYPE_CHECKING

from npexplore.names import on_demand

if TYPE_CHECKING:
    from npexplore.solve.queueing import Hits as Hits
    from npexplore.solve.queueing import JobBounds as JobBounds
    from npexplore.solve.queueing import MultiMva as MultiMva
    from npexplore.solve.queueing import Mva as Mva
    from npexplore.solve.queueing import Polling as Polling
    from npexplore.solve.queueing import QueueMeans as QueueMeans
    from npexplore.solve.queueing import Transient as Transient
    from npexplore.solve.queueing import approximate_mva as approximate_mva
    from npexplore.solve.queueing import asymptotic_bounds as asymptotic_bounds
    from npexplore.solve.queueing import balanced_job_bounds as balanced_job_bounds
    from npexplore.solve.queueing import bank_bandwidth as bank_bandwidth
    from npexplore.solve.queueing import chance_to_wait as chance_to_wait
    from npexplore.solve.queueing import characteristic_time as characteristic_time
    from npexplore.solve.queueing import closed_visits as closed_visits
    from npexplore.solve.queueing import crossbar_limit as crossbar_limit
    from npexplore.solve.queueing import deterministic_cycle as deterministic_cycle
    from npexplore.solve.queueing import erlang_b as erlang_b
    from npexplore.solve.queueing import flow_equivalent as flow_equivalent
    from npexplore.solve.queueing import ggc as ggc
    from npexplore.solve.queueing import gm1 as gm1
    from npexplore.solve.queueing import gm1_root as gm1_root
    from npexplore.solve.queueing import gmc as gmc
    from npexplore.solve.queueing import hit_chances as hit_chances
    from npexplore.solve.queueing import machine_repairman as machine_repairman
    from npexplore.solve.queueing import md1 as md1
    from npexplore.solve.queueing import mg1 as mg1
    from npexplore.solve.queueing import mg1_priority as mg1_priority
    from npexplore.solve.queueing import mg1_ps as mg1_ps
    from npexplore.solve.queueing import mgcc as mgcc
    from npexplore.solve.queueing import mixed_network as mixed_network
    from npexplore.solve.queueing import mm1 as mm1
    from npexplore.solve.queueing import mmc as mmc
    from npexplore.solve.queueing import mmc_quantiles as mmc_quantiles
    from npexplore.solve.queueing import mmck as mmck
    from npexplore.solve.queueing import mmck_quantiles as mmck_quantiles
    from npexplore.solve.queueing import multiclass_asymptotic_bounds as multiclass_asymptotic_bounds
    from npexplore.solve.queueing import multiclass_balanced_bounds as multiclass_balanced_bounds
    from npexplore.solve.queueing import multiclass_mva as multiclass_mva
    from npexplore.solve.queueing import multiserver_rates as multiserver_rates
    from npexplore.solve.queueing import mva as mva
    from npexplore.solve.queueing import mxg1 as mxg1
    from npexplore.solve.queueing import mxm1 as mxm1
    from npexplore.solve.queueing import open_network as open_network
    from npexplore.solve.queueing import open_rates as open_rates
    from npexplore.solve.queueing import polling as polling
    from npexplore.solve.queueing import stack_rates as stack_rates
    from npexplore.solve.queueing import steady_state as steady_state
    from npexplore.solve.queueing import transient as transient
else:
    __all__, __getattr__, __dir__ = on_demand(__name__)
