"""Runs simulations of designs that several tables share, each once and in parallel."""

from __future__ import annotations

from collections.abc import Iterable

from npexplore.designs import Design
from npexplore.display import ShownByArguments
from npexplore.machine.parameters import Value
from npexplore.solve.prediction import Prediction
from npexplore.solve.simulate import PACKETS
from npexplore.study.sweeping.answers import Ended, answer_points
from npexplore.study.sweeping.executors import Wanted
from npexplore.study.sweeping.grid import SweepPoint
from npexplore.study.sweeping.points import Predictions, known

Key = tuple[str, tuple[tuple[str, Value], ...]]


def key_of(design: Design) -> Key:
    """Return the key of a design: its name and changed parameters."""
    return design.name, tuple(sorted(design.parameters.changed().items()))


class Simulations(ShownByArguments):
    """Simulated answers of designs with their own workload, with one seed; earlier answers are cached.

    packets: measured packets of each new simulation.

    Example:
        >>> from npexplore.study import Simulations
        >>> Simulations(seed=2).seed
        2
    """

    def __init__(self, seed: int = 1, executor: Wanted = None, packets: int = PACKETS) -> None:
        self.seed, self.executor, self.packets = seed, executor, packets
        self.predictions: dict[Key, Prediction] = {}

    @staticmethod
    def of(predictions: Predictions | None, packets: int = PACKETS) -> Simulations:
        """Return the simulations of a check with its first seed, for reuse; packets: of new simulations."""
        simulations = Simulations(packets=packets)
        if predictions is not None:
            simulations.seed = predictions.seeds[0]
            for (point, solver, seed), prediction in predictions.answers.items():
                if solver == "simulation" and seed == simulations.seed and point.mix is None and prediction is not None:
                    simulations.predictions[key_of(predictions.design_at(point))] = prediction
        return simulations

    def __call__(self, designs: Iterable[Design]) -> list[Prediction]:
        """Return one answer per design, in their order; raises NpexploreError for a design without an answer."""
        design_list = list(designs)
        keys = [key_of(design) for design in design_list]
        missing = {key: design for key, design in zip(keys, design_list, strict=True) if key not in self.predictions}
        points = [SweepPoint(design, None, "simulation", self.seed) for design in missing.values()]
        names = list(missing)

        def keep(ended: Ended) -> None:
            for k, answer in ended:
                prediction = known(points[k], answer)
                assert prediction is not None
                self.predictions[names[k]] = prediction

        answer_points(points, keep, executor=self.executor, packets=self.packets)
        return [self.predictions[key] for key in keys]
