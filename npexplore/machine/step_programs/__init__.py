"""Step programs: steps that call accelerators, compute, and name the next step, for execution and for models.

Lavasani, Dennison, Chiou, "Compiling high throughput network processors", FPGA 2012, sections 3.1 and 3.3.

language    a program in Python: steps, calls, fields of the header
compiler    checks dependencies within a step, splits steps, builds the pipeline form
layout      the addresses of fields in a thread's words of the scratchpad
execution   runs a compiled program on a real packet and records its trace
paths       turns traces into workload columns and a recorded program for the event engine
"""

from npexplore.machine.step_programs.compiler import Compiled, Pipeline, Substep, compile_steps, pipeline
from npexplore.machine.step_programs.execution import Answer, Composite, Context, Trace, execute
from npexplore.machine.step_programs.language import Call, Field, Kept, Step, StepProgram
from npexplore.machine.step_programs.layout import Scratchpad, scratchpad
from npexplore.machine.step_programs.paths import Lowered, Path, lower

__all__ = [
    "Answer", "Call", "Compiled", "Composite", "Context", "Field", "Kept", "Lowered", "Path", "Pipeline", "Scratchpad",
    "Step", "StepProgram", "Substep", "Trace", "compile_steps", "execute", "lower", "pipeline", "scratchpad",
]  # fmt: skip
