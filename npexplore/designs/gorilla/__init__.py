"""Gorilla, network processors in an FPGA.

design   the machine: clusters of engines, arbiters, memory channels, body buffer, reorder queue
steps    the router as a step program: what an engine and its accelerators do with a packet
tables   route updates by control packets; route caches in clusters
memory   the memory's channels and their read rate
lowered, hardware, processor, rate    the program as graphs, an engine and a processor as Verilog, their packet rate
traffic  a router's tables, frames of each kind, and the steps that each frame executes
"""
