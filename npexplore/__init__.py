"""Describe a packet-forwarding machine once; learn how fast it is, what holds it back, and whether it is right.

Call first:

    >>> import npexplore as npx
    >>> machine = npx.design("ixp2400")        # npx.design_names(), or a .toml or .py file of yours
    >>> load = npx.workload(mix="amp")         # npx.mix_names(), or packet_bytes=64, trace="my.pcap"
    >>> print(machine.bounds(load))            # an upper bound; .queueing(load), .simulate(load)
    bounds: 5.062 Gb/s (padded cells), 842.7 kpps, bottleneck dram.bus

Then ask:

    what binds, what would help?       npx.explain(machine, load)
    what if one knob changes?          machine.with_(threads=32); machine.parameters lists them
    many points                        npx.sweep(npx.grid(machine, load, threads=[8, 16, 32]))
    latency and loss over the load     npx.load_curve(machine, load)
    the best machines for their cost   npx.optimise(machine, load, knobs={"threads": [8, 16, 32]})
    what is in a capture?              npx.read_capture("my.pcap")
    is the prediction right?           npx.check(["ixp2400"]), npx.published()
    a machine of your own              npx.machine, npx.step_programs, npx.hardware
    is my router right?                npx.golden, npx.testing
    what does my XDP program do?       npx.program("my_xdp.o").run("my.pcap")
    networks, nets, formulas           npx.networks, npx.petri, npx.queueing, npx.solvers
    figures and tables                 npx.plot

Other groups of names: npx.packets, npx.programs, npx.study, npx.ledger, npx.papers, npx.report, npx.errors.
What they list is public (docs/api.md). Names are imported when they are first used.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from npexplore.names import on_demand, register_functions

__version__ = "0.2.0"

if TYPE_CHECKING:
    from npexplore import errors as errors
    from npexplore import golden as golden
    from npexplore import hardware as hardware
    from npexplore import ledger as ledger
    from npexplore import machine as machine
    from npexplore import networks as networks
    from npexplore import packets as packets
    from npexplore import papers as papers
    from npexplore import petri as petri
    from npexplore import plot as plot
    from npexplore import programs as programs
    from npexplore import queueing as queueing
    from npexplore import report as report
    from npexplore import solvers as solvers
    from npexplore import step_programs as step_programs
    from npexplore import study as study
    from npexplore import testing as testing
    from npexplore.designs import design as design
    from npexplore.designs import design_names as design_names
    from npexplore.designs.base import Design as Design
    from npexplore.designs.composed import machine_of as machine_of
    from npexplore.ledger import published as published
    from npexplore.machine.mixes import mix_names as mix_names
    from npexplore.machine.workload import Workload as Workload
    from npexplore.machine.workload_sources import workload as workload
    from npexplore.packets.capture import Capture as Capture
    from npexplore.packets.capture import read_capture as read_capture
    from npexplore.paths import bundled_path as bundled_path
    from npexplore.programs.loading import program as program
    from npexplore.solve.prediction import Prediction as Prediction
    from npexplore.study.checking.calibrate import Calibration as Calibration
    from npexplore.study.checking.calibrate import calibrate as calibrate
    from npexplore.study.checking.check import Check as Check
    from npexplore.study.checking.check import check as check
    from npexplore.study.explaining.compare import compare as compare
    from npexplore.study.explaining.explain import Explanation as Explanation
    from npexplore.study.explaining.explain import explain as explain
    from npexplore.study.frames import to_frame as to_frame
    from npexplore.study.frames import to_xarray as to_xarray
    from npexplore.study.laboratory.resource import SingleResource as SingleResource
    from npexplore.study.laboratory.resource import resource as resource
    from npexplore.study.loading.curve import load_curve as load_curve
    from npexplore.study.optimising.optimise import optimise as optimise
    from npexplore.study.optimising.optimum import Optimum as Optimum
    from npexplore.study.sweeping.grid import Span as Span
    from npexplore.study.sweeping.grid import grid as grid
    from npexplore.study.sweeping.samples import sample as sample
    from npexplore.study.sweeping.sweep import sweep as sweep
else:
    __all__, __getattr__, __dir__ = on_demand(__name__)

register_functions({
    "Design.explain": "npexplore.study.explaining.explain:explain",
    "Design.formula": "npexplore.study.formulas.search:formulas",
    "Prediction.plot": "npexplore.plot.prediction:prediction_figure",
    "SingleResource.plot": "npexplore.plot.laboratory:resource_figure",
    "SolverAnswers.plot": "npexplore.plot.explanation:explanation_figure",
})  # fmt: skip

if "IPython" in sys.modules:  # in a notebook or IPython shell
    import_module("npexplore.completion").register()
