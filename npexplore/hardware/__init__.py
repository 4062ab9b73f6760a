"""From a step program to hardware: Verilog, a test bench, areas and waveforms; verified packet by packet.

graph, ranges      expressions as plain data, evaluated in Python; the ranges of their values
values             symbolic values on which a step's body is run: numbers, bytes, choices
merging, operations    merging values of two branches; operations on symbolic values
sources, frames, interpreter, expressions, operators, known_functions     run Python functions on symbolic values
shapes, programs   registers for the values that steps keep; a program as graphs, as plain data
stepping, reaching, lowering    one step as a graph; the values with which steps begin; a whole program
places, bit_sources, allocation    registers that share places of a context
outcomes           the numbers that a program may leave in a register
verilog, engine    graphs as modules; threads and their scheduler
described, packing, playback, program_files     a user's program with its accelerators; its files, verified
templates          modules around engines: groups of members, memory channels, a bench for them
bench, simulators  the test bench of one engine; Icarus or Verilator runs it
area, vcd          LUTs of synthesised engines; value change dumps, cycle by cycle
"""

from typing import TYPE_CHECKING

from npexplore.names import on_demand

if TYPE_CHECKING:
    from npexplore.hardware.area import Luts as Luts
    from npexplore.hardware.area import Synthesis as Synthesis
    from npexplore.hardware.area import engine_luts as engine_luts
    from npexplore.hardware.area import lut_slope as lut_slope
    from npexplore.hardware.area import syntheses as syntheses
    from npexplore.hardware.described import StepHardware as StepHardware
    from npexplore.hardware.program_files import ProgramFiles as ProgramFiles
    from npexplore.hardware.programs import LoweredProgram as LoweredProgram
    from npexplore.hardware.programs import Outside as Outside
    from npexplore.hardware.shapes import Whole as Whole
    from npexplore.hardware.vcd import read_vcd as read_vcd
else:
    __all__, __getattr__, __dir__ = on_demand(__name__)
