"""Gorilla, network processors in an FPGA.

design   clusters of engines, arbiters, memory channels, body buffer, reorder queue
steps    the router as a step program: what an engine and its accelerators do with a packet
tables   updates of routes by control packets, caches in clusters
memory   channels of the memory and their reads
lowered, hardware, processor, rate    the program as graphs, an engine and a processor as Verilog, their rate
traffic  a router's tables, frames of each kind, and the steps that they take
"""
