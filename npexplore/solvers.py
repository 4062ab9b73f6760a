"""The solvers of machines as functions: bounds, queueing, simulation, Markov chains; one point or many at once."""

from typing import TYPE_CHECKING

from npexplore.names import on_demand

if TYPE_CHECKING:
    from npexplore.solve.batch import Batch as Batch
    from npexplore.solve.batch_answers import Answers as Answers
    from npexplore.solve.bounds import bounds as bounds
    from npexplore.solve.bounds import bounds_of as bounds_of
    from npexplore.solve.breakdown import Breakdown as Breakdown
    from npexplore.solve.chains import Chain as Chain
    from npexplore.solve.chains import Stationary as Stationary
    from npexplore.solve.chains import explore as explore
    from npexplore.solve.chains import stationary as stationary
    from npexplore.solve.machine_chain import MachineChain as MachineChain
    from npexplore.solve.machine_chain import ctmc as ctmc
    from npexplore.solve.packet_files import write_run as write_run
    from npexplore.solve.packet_router import route_run as route_run
    from npexplore.solve.packet_run import PacketRun as PacketRun
    from npexplore.solve.prediction import Latency as Latency
    from npexplore.solve.prediction import Utilization as Utilization
    from npexplore.solve.queueing_model import queueing as queueing
    from npexplore.solve.queueing_model import queueing_of as queueing_of
    from npexplore.solve.simulate import simulate as simulate
    from npexplore.solve.solver_answers import SolverAnswers as SolverAnswers
else:
    __all__, __getattr__, __dir__ = on_demand(__name__)
