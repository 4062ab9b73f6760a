"""From a step program to hardware: graphs of expressions, and Verilog made of them.

graph, ranges      expressions as plain data; what values they can have; evaluated in Python
values             numbers, bytes and choices that a step's body is run on, and how two ways meet
sources, frames, interpreter, expressions, known_functions     runs the text of Python functions on such values
shapes, lowering   what steps keep as registers; a whole program as graphs
execution          runs the graphs of a program on a packet
verilog, engine    graphs as modules; threads and their scheduler
bench, simulators  the test bench; Icarus or Verilator run it
"""
