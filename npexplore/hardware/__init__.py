"""From a step program to hardware: Verilog, a test bench, areas and wave forms; verified packet by packet.

graph, ranges      expressions as plain data; what values they can have; evaluated in Python
values             numbers, bytes and choices that a step's body is run on
merging, operations    how two ways meet; what is done with such values
sources, frames, interpreter, expressions, operators, known_functions     runs the text of Python functions on them
shapes, programs   what steps keep as registers; a program as graphs, as plain data
stepping, reaching, lowering    one step as a graph; what steps begin with; a whole program
places, bit_sources, allocation    registers that share places of a context
outcomes           the numbers that a program may leave in a register
execution          runs the graphs of a program on a packet
verilog, engine    graphs as modules; threads and their scheduler
described, packing, playback, program_files     a user's own program with its accelerators; its files, verified
templates          what is around engines: groups of members, memory channels, a bench for them
bench, simulators  the test bench of one engine; Icarus or Verilator run it
area, vcd          LUTs of engines that were synthesised; dumps of signals, cycle by cycle
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
