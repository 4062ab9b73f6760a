"""Programs of steps that call accelerators: written once, run on real packets, and lowered to a model."""

from typing import TYPE_CHECKING

from npexplore.names import on_demand

if TYPE_CHECKING:
    from npexplore.machine.step_programs import Answer as Answer
    from npexplore.machine.step_programs import Call as Call
    from npexplore.machine.step_programs import Compiled as Compiled
    from npexplore.machine.step_programs import Composite as Composite
    from npexplore.machine.step_programs import Context as Context
    from npexplore.machine.step_programs import Field as Field
    from npexplore.machine.step_programs import Kept as Kept
    from npexplore.machine.step_programs import Lowered as Lowered
    from npexplore.machine.step_programs import Path as Path
    from npexplore.machine.step_programs import Pipeline as Pipeline
    from npexplore.machine.step_programs import Scratchpad as Scratchpad
    from npexplore.machine.step_programs import Step as Step
    from npexplore.machine.step_programs import StepProgram as StepProgram
    from npexplore.machine.step_programs import Substep as Substep
    from npexplore.machine.step_programs import Trace as Trace
    from npexplore.machine.step_programs import compile_steps as compile_steps
    from npexplore.machine.step_programs import execute as execute
    from npexplore.machine.step_programs import lower as lower
    from npexplore.machine.step_programs import pipeline as pipeline
    from npexplore.machine.step_programs import scratchpad as scratchpad
else:
    __all__, __getattr__, __dir__ = on_demand(__name__)
