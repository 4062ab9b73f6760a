"""Studies over many predictions: checks against published or own numbers, fits, load curves, sweeps, captures."""

from typing import TYPE_CHECKING

from npexplore.names import on_demand

if TYPE_CHECKING:
    from npexplore.solve.formulas import Formula as Formula
    from npexplore.solve.formulas import Formulas as Formulas
    from npexplore.study.checking.calibrate import Fit as Fit
    from npexplore.study.checking.changed import Changed as Changed
    from npexplore.study.checking.changed import changed_machines as changed_machines
    from npexplore.study.checking.changed import compare_checks as compare_checks
    from npexplore.study.checking.check import alternative_values as alternative_values
    from npexplore.study.checking.left_out import LeftOut as LeftOut
    from npexplore.study.checking.left_out import leave_group_out as leave_group_out
    from npexplore.study.checking.left_out import row_groups as row_groups
    from npexplore.study.checking.results import Results as Results
    from npexplore.study.checking.results import read_results as read_results
    from npexplore.study.checking.sets import ParameterSet as ParameterSet
    from npexplore.study.checking.sets import load_sets as load_sets
    from npexplore.study.explaining.on_capture import compare_on_capture as compare_on_capture
    from npexplore.study.explaining.on_capture import machines_without_clock as machines_without_clock
    from npexplore.study.explaining.on_capture import packet_rates as packet_rates
    from npexplore.study.explaining.whatif import WhatIf as WhatIf
    from npexplore.study.explaining.whatif import what_if as what_if
    from npexplore.study.loading.curve import LoadCurve as LoadCurve
    from npexplore.study.loading.lossless import LoadSearch as LoadSearch
    from npexplore.study.loading.lossless import search_lossless as search_lossless
    from npexplore.study.loading.mlrsearch import Goal as Goal
    from npexplore.study.loading.points import LoadPoint as LoadPoint
    from npexplore.study.machine_study import MachineStudy as MachineStudy
    from npexplore.study.machine_study import study_machine as study_machine
    from npexplore.study.packet_runs import run_each as run_each
    from npexplore.study.sweeping.grid import SweepPoint as SweepPoint
    from npexplore.study.sweeping.landscape import Landscape as Landscape
    from npexplore.study.sweeping.landscape import landscape as landscape
    from npexplore.study.sweeping.simulations import Simulations as Simulations
else:
    __all__, __getattr__, __dir__ = on_demand(__name__)
